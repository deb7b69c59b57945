import os, tempfile
def nop():
    pass
def make():
    return os.path.join(tempfile.mkdtemp(), "link")
def f(s):
    old = os.path.lexists(s)
    nop()
    return old == os.path.lexists(s)
def g(s):
    os.mkdir(s)
def check(s, r):
    os.rmdir(s)
    os.rmdir(os.path.dirname(s))
    return None if r[0] else f"wrong: {r}"
THREADS = [f, g]
