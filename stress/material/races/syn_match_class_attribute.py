def nop():
    pass
class Level:
    HIGH = 1
def make():
    Level.HIGH = 1
    return []
def f(s):
    match 1:
        case Level.HIGH:
            first = True
        case _:
            first = False
    nop()
    match 1:
        case Level.HIGH:
            return first is True
        case _:
            return first is False
def g(s):
    Level.HIGH = 2
def check(s, r):
    return None if r[0] else "changed in between"
THREADS = [f, g]
