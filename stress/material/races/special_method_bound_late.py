def nop():
    pass
def make():
    class C:
        def __len__(self):
            return 1
    return C()
def f(s):
    type(s).__len__ = lambda self: 2  #R
#C     s.length = lambda: 2
def g(s):
    old = len(s)
    nop()
    return old == len(s)
def check(s, r):
    return None if r[1] else f"wrong: {r}"
THREADS = [f, g]
