def nop():
    pass
LOW = None
def make():
    return object()
def f(s):
    global LOW
    try:
        raise ValueError
    except ValueError as LOW:
        nop()
def g(s):
    try:
        return LOW
    except NameError:
        return None
def check(s, r):
    return None if r[1] is None else f"wrong {r}"

THREADS = [f, g]
