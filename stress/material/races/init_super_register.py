def nop():
    pass
REG = []
class Base:
    def attach(self):
        REG.append(self)
class Box(Base):
    a = 0
    b = 0
    def __init__(self):
        super().attach()
        self.a = 1
        nop()
        self.b = 1
def make():
    REG.clear()
    return object()
def f(s):
    Box()
def g(s):
    if not REG:
        return 0, 0
    box = REG[0]
    a = box.a
    nop()
    return a, box.b

def check(s, r):
    return None if r[1] in ((0, 0), (1, 1)) else f'wrong: {r}'

THREADS = [f, g]
