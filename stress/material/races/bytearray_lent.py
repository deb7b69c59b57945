def nop():
    pass
def make():
    return bytearray(b"ab")
def f(s):
    with memoryview(s):
        nop()
def g(s):
    s.append(1)
def check(s, r):
    return None
THREADS = [f, g]
