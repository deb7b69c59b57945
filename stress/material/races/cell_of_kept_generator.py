def make():
    return []
def f(s):
    n = 1
    s.append(n for _ in range(1))
    n = 2
def g(s):
    return next(s[0]) if s else 2

def check(s, r):
    return None if r[1] == 2 else f'wrong: {r}'

THREADS = [f, g]
