class Proxy:
    __slots__ = ("box", "count")
    def __init__(self, box):
        object.__setattr__(self, "box", box)
        object.__setattr__(self, "count", 0)
    def target(self):
        return self.box[0]
    def __getattr__(self, name):
        return getattr(self.target(), name)
    @property
    def __class__(self):
        return [self.count, type(self.target())][1]
def bump(proxy):
    value = proxy.count
    proxy.target()
    object.__setattr__(proxy, "count", value + 1)
def make():
    return Proxy([1])
def check(proxy, results):
    return None if proxy.count == 2 else f"lost update: {proxy.count}"
THREADS = [bump, bump]
