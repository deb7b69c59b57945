import weakref
class Item:
    pass
def make():
    return Item(), []
def refer(shared):
    shared[1].append(weakref.ref(shared[0], len))
    shared[1].pop()
def look(shared):
    return weakref.getweakrefcount(shared[0]), weakref.getweakrefcount(shared[0])
def check(shared, results):
    return "it was referred to" if results[1] == (1, 0) else None
THREADS = [refer, look]
