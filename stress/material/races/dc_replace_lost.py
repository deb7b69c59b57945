from dataclasses import dataclass, replace
@dataclass(frozen=True)
class Snapshot:
    low: int
    high: int
class Store:
    def __init__(self):
        self.now = Snapshot(0, 0)
def make():
    return Store()
def f(s):
    now = s.now
    s.now = replace(now, low=now.low + 1)
def g(s):
    now = s.now
    s.now = replace(now, high=now.high + 1)
def check(s, r):
    return None if s.now == Snapshot(1, 1) else f"lost: {s.now}"
THREADS = [f, g]
