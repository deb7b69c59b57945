def make():
    return {"a": [0], "b": ([0],)}
def f(s):
    s["a"].append(1)
    s["b"][0].append(1)
def g(s):
    return f"{s}"
def check(s, r):
    return None if r[1].count("1") != 1 else f"wrong: {r[1]}"
THREADS = [f, g]
