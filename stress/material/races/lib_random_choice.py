import random
def nop():
    pass
def make():
    return random.Random(7).choice(range(1000))
def f(s):
    random.seed(7)
    nop()
    return random.choice(range(1000)) == s
def g(s):
    random.choice(range(1000))
def check(s, r):
    return None if r[0] else "drawn in between"
THREADS = [f, g]
