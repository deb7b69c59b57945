def nop():
    pass
class S: pass
def make():
    s = S(); s.low = [0]; s.high = [0]
    return s
def f(s):
    s.low[0] = 1
    nop()
    s.high[0] = 1
def g(s):
    def h(a: s.low[0], c: nop(), b: s.high[0]): return a, b
    return h.__annotations__["a"], h.__annotations__["b"]

def check(s, r):
    return None if r[1] in ((0, 0), (1, 1)) else f'wrong: {r}'

THREADS = [f, g]
