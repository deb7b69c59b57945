import contextlib
def nop():
    pass
def make():
    return contextlib.nullcontext(0)
def f(s):
    with s as old:
        nop()
        s.enter_result = old + 1
def check(s, r):
    return None if s.enter_result == 2 else f"wrong: {s.enter_result}"
THREADS = [f, f]
