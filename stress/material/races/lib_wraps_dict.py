import functools
def nop():
    pass
class Box:
    pass
def make():
    def base(): pass
    base.n = 0
    return base
def f(s):
    @functools.wraps(s)
    def copy(): pass
    nop()
    s.n = copy.n + 1
def check(s, r):
    return None if s.n == 2 else f"wrong: {s.n}"
THREADS = [f, f]
