def nop():
    pass
class Seq:
    def __init__(self):
        self.items = [0, 0]
    def __getitem__(self, i):
        return self.items[i]
def make():
    return Seq()
def writes(s):
    s.items[0] = 1
    nop()
    s.items[1] = 1
def reads(s):
    return [x for x in s]
def check(s, r):
    return None if r[1] in ([0, 0], [1, 1]) else f"torn: {r}"
THREADS = [writes, reads]
