import atexit
def nop():
    pass
def make():
    atexit.unregister(nop)
def f(s):
    atexit.register(nop)
def g(s):
    old = atexit._ncallbacks()
    nop()
    return old == atexit._ncallbacks()
def check(s, r):
    atexit.unregister(nop)
    return None if r[1] else f"wrong: {r}"
THREADS = [f, g]
