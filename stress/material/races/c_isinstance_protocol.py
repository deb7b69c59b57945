from typing import Protocol, runtime_checkable
@runtime_checkable
class HasTag(Protocol):
    tag: int
class Thing:
    pass
def make():
    thing = Thing()
    thing.tag = 1
    return thing
def f(s):
    del s.tag
    s.tag = 1
def g(s):
    return isinstance(s, HasTag)

def check(s, r):
    return None if r[1] else f'wrong: {r}'

THREADS = [f, g]
