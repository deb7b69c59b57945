def make():
    return []
def f(s):
    [(x := v, s.append(lambda: x)) for v in (1, 2)]
def g(s):
    return s[0]() if s else 2

def check(s, r):
    return None if r[1] == 2 else f'wrong: {r}'

THREADS = [f, g]
