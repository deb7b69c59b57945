import socket
def nop():
    pass
def make():
    socket.setdefaulttimeout(1)
    return []
def f(s):
    old = socket.getdefaulttimeout()
    nop()
    socket.setdefaulttimeout(old + 1)
def check(s, r):
    found = socket.getdefaulttimeout()
    socket.setdefaulttimeout(None)
    return None if found == 3 else f"wrong: {found}"
THREADS = [f, f]
