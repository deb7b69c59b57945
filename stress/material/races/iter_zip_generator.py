def nop():
    pass
def numbers():
    yield 1
    nop()
    yield 2
    yield 3
    yield 4
def make():
    return numbers()
def f(s):
    return list(zip(s, s))
def check(s, r):
    flat = [pair for one in r for pair in one]
    return None if sorted(flat) in ([(1, 2), (3, 4)],) else f"wrong: {r}"
THREADS = [f, f]
