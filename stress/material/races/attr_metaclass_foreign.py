# foreign: aux_registry
import aux_registry
def nop():
    pass
class Kinds(aux_registry.Registry):
    def move(self):
        self.low = self.low + 1
        nop()
        self.high = self.high + 1
class Base:
    def both(self):
        return self.low, self.high
def make():
    return Kinds("Node", (Base,), {"low": 0, "high": 0})
def f(s):
    s.move()
def g(s):
    return s().both()
def check(s, r):
    return None if r[1] in [(0, 0), (1, 1)] else f"torn: {r}"
THREADS = [f, g]
