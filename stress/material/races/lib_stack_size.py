import threading
def nop():
    pass
def make():
    threading.stack_size(0)
    return []
def f(s):
    old = threading.stack_size()
    nop()
    threading.stack_size(old + 1048576)
def check(s, r):
    size = threading.stack_size(0)
    return None if size == 2 * 1048576 else f"wrong: {size}"
THREADS = [f, f]
