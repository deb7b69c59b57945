from types import SimpleNamespace
def nop():
    pass
def make():
    return SimpleNamespace(x=0, y=0)
def f(s):
    s.x = 1
    nop()
    s.y = 1
def g(s):
    return s == SimpleNamespace(x=1, y=0)

def check(s, r):
    return f'wrong: {r}' if r[1] else None

THREADS = [f, g]
