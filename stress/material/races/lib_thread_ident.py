import threading
def nop():
    pass
class Box:
    def __init__(self):
        self.thread = threading.Thread(target=nop)
def make():
    return Box()
def f(s):
    s.thread.start()
    s.thread.join()
def g(s):
    first = s.thread.ident
    nop()
    return (first is None) == (s.thread.ident is None)
def check(s, r):
    return None if r[1] else "it started in between"
THREADS = [f, g]
