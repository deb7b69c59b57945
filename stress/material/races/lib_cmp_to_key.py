import functools
def nop():
    pass
K = functools.cmp_to_key(lambda a, b: a - b)
def make():
    return K(0)
def f(s):
    old = s.obj
    nop()
    s.obj = old + 1
def check(s, r):
    return None if s.obj == 2 else f"wrong: {s.obj}"
THREADS = [f, f]
