def nop():
    pass
class Box:
    def __init__(self, v=0):
        self.a = v
        nop()
        self.b = v
    reset = __init__
def make():
    return Box()
def f(s):
    s.reset(1)
def g(s):
    a = s.a
    nop()
    return a, s.b

def check(s, r):
    return None if r[1] in ((0, 0), (1, 1)) else f'wrong: {r}'

THREADS = [f, g]
