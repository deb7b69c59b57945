import dataclasses
def nop():
    pass
def make():
    class C:
        n: int = 0
    return C
def f(s):
    if "__dataclass_fields__" not in vars(s):
        nop()
        dataclasses.dataclass(s)
        return 1
    return 0
def check(s, r):
    return None if sum(r) == 1 else f"wrong: {r}"
THREADS = [f, f]
