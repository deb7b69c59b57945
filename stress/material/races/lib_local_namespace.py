import threading
def nop():
    pass
def make():
    return threading.local(), []
def f(s):
    s[0].x = 0
    s[1].append(s[0].__dict__)  #R
#C     s[1].append({"x": s[0].x})
    nop()
    return s[0].x
def g(s):
    for kept in list(s[1]):
        kept["x"] = 5
def check(s, r):
    return None if r[0] == 0 else f"wrong: {r}"
THREADS = [f, g]
