def make():
    return [[], []]
def f(s):
    list(map(list.append, s, [1, 1]))
def g(s):
    before = len(s[0])
    s[0].append(2)
    return before, s[0].index(2)
def check(s, r):
    return None if r[1][0] == r[1][1] else f"appended at {r[1][0]}, found at {r[1][1]}"
THREADS = [f, g]
