def nop():
    pass
import dataclasses
_set = object.__setattr__
@dataclasses.dataclass(frozen=True)
class P:
    low: int = 0
    high: int = 0
    def bump(self):
        _set(self, "low", 1)
        nop()
        _set(self, "high", 1)
def make():
    return P()
def f(s):
    s.bump()
def g(s):
    a = s.low
    nop()
    return a, s.high

def check(s, r):
    return None if r[1] in ((0, 0), (1, 1)) else f'wrong: {r}'

THREADS = [f, g]
