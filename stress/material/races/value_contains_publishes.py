def nop():
    pass
class Registry:
    def __init__(self):
        self.seen = None
    def __contains__(self, other):
        self.seen = other
        return True
def make():
    return Registry()
def f(s):
    rows = [0, 0]
    if rows in s:
        rows[0] = 1
        nop()
        rows[1] = 1
def g(s):
    rows = s.seen
    if rows is None:
        return 0, 0
    a = rows[0]
    nop()
    return a, rows[1]

def check(s, r):
    return None if r[1] in ((0, 0), (1, 1)) else f'wrong: {r}'

THREADS = [f, g]
