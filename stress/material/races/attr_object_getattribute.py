def nop():
    pass
class Box:
    def __init__(self):
        self.n = 0
    def add(self):
        old = object.__getattribute__(self, "n")
        nop()
        self.n = old + 1
def make():
    return Box()
def f(s):
    s.add()
def check(s, r):
    return None if s.n == 2 else f"wrong: {s.n}"
THREADS = [f, f]
