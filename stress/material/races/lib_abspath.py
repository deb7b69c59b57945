import os
def nop():
    pass
start = os.getcwd()
def make():
    os.chdir(start)
def f(s):
    old = os.path.abspath("x")
    nop()
    return old == os.path.abspath("x")
def g(s):
    os.chdir(os.sep)
def check(s, r):
    os.chdir(start)
    return None if r[0] else f"wrong: {r}"
THREADS = [f, g]
