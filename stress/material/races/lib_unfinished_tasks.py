import queue
def nop():
    pass
def make():
    q = queue.Queue()
    return q
def f(s):
    if s.unfinished_tasks == 0:
        nop()
        s.put(1)
def check(s, r):
    return None if s.qsize() == 1 else f"wrong: {s.qsize()}"
THREADS = [f, f]
