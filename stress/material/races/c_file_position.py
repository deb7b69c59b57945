import tempfile
def nop():
    pass
def make():
    file = tempfile.TemporaryFile()
    file.write(b"abc")
    return file
def f(s):
    s.seek(0)
    nop()
    return s.read(1)
def check(s, r):
    s.close()
    return None if r == [b"a", b"a"] else f"wrong: {r}"
THREADS = [f, f]
