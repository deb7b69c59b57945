def nop():
    pass
class Box:
    def __init__(self):
        self.a = 0
        self.b = 0
def make():
    return Box()
def f(s):
    d = getattr(s, "__dict__")
    d["a"] = 1
    nop()
    d["b"] = 1
def g(s):
    a = s.a
    nop()
    return a, s.b

def check(s, r):
    return None if r[1] in ((0, 0), (1, 1)) else f'wrong: {r}'

THREADS = [f, g]
