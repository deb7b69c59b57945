def nop():
    pass
import io
class S: pass
def make():
    s = S(); s.io = io.BytesIO(b"\0\0"); s.view = s.io.getbuffer()
    return s
def f(s):
    s.view[0] = 1
    nop()
    s.view[1] = 1
def g(s):
    a = s.io.getvalue()[0]
    nop()
    return a, s.io.getvalue()[1]

def check(s, r):
    return None if r[1] in ((0, 0), (1, 1)) else f'wrong: {r}'

THREADS = [f, g]
