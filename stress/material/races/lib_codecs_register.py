import codecs
def nop():
    pass
def find(name):
    return codecs.lookup("utf-8") if name == "race" else None
def make():
    codecs.unregister(find)
def asked():
    try:
        return "a".encode("race")
    except LookupError:
        return None
def f(s):
    codecs.register(find)
def g(s):
    old = asked()
    nop()
    return old == asked()
def check(s, r):
    codecs.unregister(find)
    return None if r[1] else f"wrong: {r}"
THREADS = [f, g]
