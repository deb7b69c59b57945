def nop():
    pass
class S: pass
def make():
    s = S(); s.n = {"v": 0}; s.m = {"v": 0}
    return s
def f(s):
    s.n["v"] = 1
    nop()
    s.m["v"] = 1
def g(s):
    a = type("X", (), s.n)
    nop()
    b = type("Y", (), s.m)
    return a.v, b.v

def check(s, r):
    return None if r[1] in ((0, 0), (1, 1)) else f'wrong: {r}'

THREADS = [f, g]
