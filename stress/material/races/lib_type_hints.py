import typing
def nop():
    pass
def make():
    class C:
        x: int
    return C
def f(s):
    s.__annotations__["x"] = str
def g(s):
    old = typing.get_type_hints(s)
    nop()
    return old == typing.get_type_hints(s)
def check(s, r):
    return None if r[1] else f"wrong: {r}"
THREADS = [f, g]
