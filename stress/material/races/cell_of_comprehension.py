def make():
    return []
def f(s):
    [s.append(lambda: n) for n in (1, 2)]
def g(s):
    return s[0]() if s else 2

def check(s, r):
    return None if r[1] == 2 else f'wrong: {r}'

THREADS = [f, g]
