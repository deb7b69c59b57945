import copy
def nop():
    pass
def make():
    return {"memo": {}, "item": [1]}
def f(s):
    return copy.deepcopy(s["item"], s["memo"])
def check(s, r):
    return None if r[0] is r[1] else "copied twice"
THREADS = [f, f]
