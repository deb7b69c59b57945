def make():
    return [[], []]
def f(s):
    s[0].append(1)
    s[1].append(1)
def g(s):
    return list(map(len, s))
def check(s, r):
    return None if r[1] in ([0, 0], [1, 1]) else f"wrong: {r[1]}"
THREADS = [f, g]
