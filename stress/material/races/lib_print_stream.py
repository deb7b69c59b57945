import io, sys
real = sys.stdout
def make():
    streams = io.StringIO(), io.StringIO()
    sys.stdout = streams[0]
    return streams
def redirect(streams):
    sys.stdout = streams[1]
def write(streams):
    print("a")
    print("b")
def check(streams, results):
    sys.stdout = real
    return None if streams[0].getvalue() in ("", "a\nb\n") else "one line is elsewhere"
THREADS = [redirect, write]
