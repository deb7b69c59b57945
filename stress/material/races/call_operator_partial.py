def nop():
    pass
import operator, functools
class S: pass
def make():
    s = S(); s.a = []; s.b = []
    return s
def f(s):
    operator.call(functools.partial(s.a.append, 1))
    nop()
    operator.call(functools.partial(s.b.append, 1))
def g(s):
    a = len(s.a)
    nop()
    return a, len(s.b)

def check(s, r):
    return None if r[1] in ((0, 0), (1, 1)) else f'wrong: {r}'

THREADS = [f, g]
