def nop():
    pass
class K:
    def __call__(self, x):
        return x
def make():
    return [0, 0]
def f(s):
    s[0] = 1
    nop()
    s[1] = 2
def g(s):
    return list(map(K(), s))
def check(s, r):
    return None if r[1] in ([0, 0], [1, 0], [1, 2]) else f"torn {r}"

THREADS = [f, g]
