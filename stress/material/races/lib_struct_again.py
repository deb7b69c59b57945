import struct
def nop():
    pass
def make():
    return struct.Struct("i")
def f(s):
    s.__init__("q")  #R
#C     struct.Struct("q")
def g(s):
    old = s.size
    nop()
    return old == s.size
def check(s, r):
    return None if r[1] else f"wrong: {r}"
THREADS = [f, g]
