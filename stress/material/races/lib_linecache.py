import linecache
def nop():
    pass
def make():
    return linecache.clearcache()
def f(s):
    linecache.cache['kcq'] = (1, None, ['x'], 'kcq'); nop(); return linecache.getline('kcq', 1) == 'x'
def g(s):
    linecache.cache.pop('kcq', None)
def check(s, r):
    return None if r[0] else f'wrong: {r}'
THREADS = [f, g]
