def nop():
    pass
REG = []
class Box:
    def __init__(self):
        self.key = 3
        self.a = 0
        nop()
        self.b = 0
        self.a = 1
        nop()
        self.b = 1
    @property
    def key(self):
        return 1
    @key.setter
    def key(self, value):
        self.a = self.b = 0
        REG.append(self)
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
