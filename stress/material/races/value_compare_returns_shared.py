def nop():
    pass
class Q:
    def __init__(self):
        self.rows = [0, 0]
    def __gt__(self, other):
        return self.rows
def make():
    return Q()
def f(s):
    rows = s > 1
    rows[0] = 1
    nop()
    rows[1] = 1
def g(s):
    rows = s > 1
    a = rows[0]
    nop()
    return a, rows[1]

def check(s, r):
    return None if r[1] in ((0, 0), (1, 1)) else f'wrong: {r}'

THREADS = [f, g]
