class Halves:
    def __init__(self):
        self.left, self.right = [], []
def make():
    return Halves()
def f(s):
    s.right.append(1)
    s.left.append(1)
def g(s):
    return s.left + s.right
def check(s, r):
    return f"saw {len(r[1])} of two" if len(r[1]) == 1 else None
THREADS = [f, g]
