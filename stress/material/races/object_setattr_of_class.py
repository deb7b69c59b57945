def nop():
    pass
class A:
    pass
class B:
    pass
def make():
    return A()
def f(s):
    object.__setattr__(s, "__class__", B)
def g(s):
    old = isinstance(s, A)
    nop()
    return old == isinstance(s, A)
def check(s, r):
    return None if r[1] else f"wrong: {r}"
THREADS = [f, g]
