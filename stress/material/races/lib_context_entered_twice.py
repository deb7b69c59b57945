import contextvars
variable = contextvars.ContextVar("variable", default=0)
def nop():
    pass
def make():
    return contextvars.Context()
def bump():
    old = variable.get()
    nop()
    variable.set(old + 1)
def f(s):
    s.run(bump)
def check(s, r):
    return None if s[variable] == 2 else f"wrong: {s[variable]}"
THREADS = [f, f]
