import pickle
def nop():
    pass
class Box:
    def __init__(self):
        self.items = [0, 0]
def make():
    return Box()
def writes(s):
    s.items[0] = 1
    nop()
    s.items[1] = 1
def reads(s):
    return pickle.loads(pickle.dumps(s.items))
def check(s, r):
    return None if r[1] in ([0, 0], [1, 1]) else f"torn: {r}"
THREADS = [writes, reads]
