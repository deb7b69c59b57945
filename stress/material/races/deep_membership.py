class Pair:
    def __init__(self):
        self.both = ([0], [0])
def make():
    return Pair()
def f(s):
    s.both[0].append(1)
    s.both[1].append(1)
def g(s):
    return [0, 1] in s.both, [0] in s.both[1:]
def check(s, r):
    return "saw one of two changed" if r[1] == (True, True) else None
THREADS = [f, g]
