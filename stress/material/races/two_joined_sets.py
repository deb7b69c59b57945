class Groups:
    def __init__(self):
        self.old, self.new = {1}, set()
def make():
    return Groups()
def f(s):
    s.new.add(1)
    s.old.discard(1)
def g(s):
    return s.old.isdisjoint(s.new)
def check(s, r):
    return None if r[1] else "it was in both"
THREADS = [f, g]
