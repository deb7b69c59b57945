def nop():
    pass
class Key:
    def __init__(self, n):
        self.n = n
    def __hash__(self):
        return 0
    def __eq__(self, other):
        nop()
        return self.n == other.n
class S:
    pass
def make():
    s = S()
    s.l = [(1, (2, Key(1))), (1, (2, Key(2)))]
    return s
def f(s):
    s.l.remove((1, (2, Key(2))))
def g(s):
    s.l.insert(0, (0, (0, Key(0))))
def check(s, r):
    got = [t[1][1].n for t in s.l]
    return None if got == [0, 1] else f"wrong: {got}"
THREADS = [f, g]
