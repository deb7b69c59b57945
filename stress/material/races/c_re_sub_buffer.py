import re
def star(match):
    return b"*"
def make():
    return bytearray(b"aab")
def f(s):
    return re.sub(b"a", star, s).count(b"*")
def g(s):
    s += b"."

def check(s, r):
    return None if r[0] == 2 else f'wrong: {r}'

THREADS = [f, g]
