import inspect
def function(x, y=2):
    pass
def make():
    return inspect.signature(function).bind(1)
def f(s):
    s.apply_defaults()
def g(s):
    s.arguments["x"] = 7
def check(s, r):
    return None if s.arguments == {"x": 7, "y": 2} else f"wrong: {s.arguments}"
THREADS = [f, g]
