def nop():
    pass
class Model:
    def __init__(self, hub, name):
        self.hub = hub
        self.name = name
        self.low = 1
        nop()
        self.high = 1
    low = high = 0
    @property
    def name(self):
        return self._name
    @name.setter
    def name(self, value):
        self._name = value
        self.hub[value] = self
def make():
    return {}
def f(s):
    Model(s, "m")
def g(s):
    m = s.get("m")
    if m is None: return 0, 0
    a = m.low
    nop()
    return a, m.high

def check(s, r):
    return None if r[1] in ((0, 0), (1, 1)) else f'wrong: {r}'

THREADS = [f, g]
