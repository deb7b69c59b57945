from types import SimpleNamespace
def nop():
    pass
def make():
    return [SimpleNamespace(x=0, y=0)]
def f(s):
    s[0].x = 1
    nop()
    s[0].y = 1
def g(s):
    return repr(s)

def check(s, r):
    return f'wrong: {r}' if "x=1, y=0" in r[1] else None

THREADS = [f, g]
