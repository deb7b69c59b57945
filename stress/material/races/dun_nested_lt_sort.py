def nop():
    pass
class Key:
    def __init__(self, n):
        self.n = n
    def __lt__(self, other):
        nop()
        return self.n < other.n
    def __eq__(self, other):
        return self.n == other.n
class S:
    pass
def make():
    s = S()
    s.l = [(1, Key(3)), (1, Key(2)), (1, Key(1))]
    return s
def f(s):
    s.l.sort()
    return 3
def g(s):
    return len(s.l)
def check(s, r):
    return None if r == [3, 3] else f"wrong: {r}"
THREADS = [f, g]
