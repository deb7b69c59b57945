import re
def make():
    return bytearray(b"aa")
def f(s):
    return bool(re.match(b"ba", s))
def g(s):
    s[0] = ord("b")
    s[1] = ord("b")

def check(s, r):
    return f'wrong: {r}' if r[0] else None

THREADS = [f, g]
