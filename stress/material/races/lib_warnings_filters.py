import warnings
def nop():
    pass
def make():
    return warnings.filters[:] and 0
def f(s):
    a = len(warnings.filters); nop(); return a == len(warnings.filters)
def g(s):
    warnings.simplefilter('ignore', ImportWarning, append=True); nop(); warnings.filters.pop()
def check(s, r):
    return None if r[0] else f'wrong: {r}'
THREADS = [f, g]
