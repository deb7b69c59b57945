import sys
def nop():
    pass
def make():
    import colorsys
    return []
def f(s):
    sys.modules.pop("colorsys", None)
    nop()
    import colorsys
    nop()
    return colorsys is sys.modules.get("colorsys")
def check(s, r):
    return None if r == [True, True] else f"wrong: {r}"
THREADS = [f, f]
