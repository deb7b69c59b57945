from dataclasses import dataclass, replace
@dataclass
class Pair:
    low: int
    high: int
def make():
    return Pair(0, 0)
def f(p):
    p.low = 1
    p.high = 1
def g(p):
    read = replace(p)
    return read.low, read.high
def check(p, r):
    return None if r[1] in [(0, 0), (1, 1)] else f"torn: {r[1]}"
THREADS = [f, g]
