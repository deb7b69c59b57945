def make():
    return {"low": [0], "high": [0]}
def f(s):
    s["low"].append(1)
    s["high"].append(1)
def g(s):
    return "{high} {low}".format_map(s)
def check(s, r):
    return None if r[1] in ("[0] [0]", "[0, 1] [0, 1]") else f"wrong: {r[1]}"
THREADS = [f, g]
