import functools
def nop():
    pass
def show(**kw):
    return kw["n"]
def make():
    return functools.partial(show, n=0)
def f(s):
    old = s()
    nop()
    s.keywords["n"] = old + 1
def check(s, r):
    return None if s() == 2 else f"wrong: {s()}"
THREADS = [f, f]
