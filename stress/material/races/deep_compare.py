class Rows:
    def __init__(self):
        self.rows = [[0], [0]]
def make():
    return Rows()
def f(s):
    s.rows[0].append(1)
    s.rows[1].append(1)
def g(s):
    return s.rows == [[0, 1], [0]]
def check(s, r):
    return "saw one of two rows changed" if r[1] else None
THREADS = [f, g]
