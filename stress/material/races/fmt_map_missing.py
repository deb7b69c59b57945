def nop():
    pass
class D(dict):
    def __missing__(self, key):
        return nop()
def make():
    return D(low=0, high=0)
def f(s):
    s["low"] = 1
    nop()
    s["high"] = 1
def g(s):
    return "{low} {x} {high}".format_map(s)
def check(s, r):
    return None if r[1] in ("0 None 0", "1 None 0", "1 None 1") else f"wrong: {r}"

THREADS = [f, g]
