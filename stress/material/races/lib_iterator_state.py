import operator
def make():
    return iter([1, 2, 3])
def move(items):
    items.__setstate__(1)
    items.__setstate__(0)
def look(items):
    return operator.length_hint(items), operator.length_hint(items)
def check(items, results):
    return "the iterator was moved" if results[1] == (2, 3) else None
THREADS = [move, look]
