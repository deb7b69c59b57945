import random
def nop():
    pass
def make():
    return random.Random(7).random()
def f(s):
    random.seed(7)
    nop()
    return random.random() == s
def g(s):
    random.seed(8)
def check(s, r):
    return None if r[0] else "seeded in between"
THREADS = [f, g]
