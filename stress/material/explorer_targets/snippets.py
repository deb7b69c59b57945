"""Pieces of Python that behave the same whether they are rewritten or not; each is the body of a function ``main``."""

SNIPPETS = """
a, b = note(1), note(2)
return a, b
---
o.x, d[note("k")], *l[note(0):note(2)] = note((1, 2, 3, 4, 5))
return o.x, d, l
---
d[note("a")][note("b")] = note({}).setdefault(note("c"), note([]))
---
note(o).x = note(d)[note("k")] = note(5)
return o.x, d
---
note(l)[note(0)] += note(5)
return l
---
note(o).l += note([5])
return o.l is l, l
---
note(o).x += note(5)
return o.x
---
l[note(0):note(1)] += note([7, 8])
return l
---
del note(l)[note(0)], note(d)["k"]
return l, d
---
return [(note(x), note(y)) for x in note(l) if note(x) for y in note(l) if x != y]
---
return {k: v for k, v in note(d).items() if k in note(d)}, {x for x in l}, list(x for x in l if x in l)
---
return [y for x in [[note(1)], [2]] for y in note(x)]
---
return note(1) < note(2) < note(3) < note(0) < note(9)
---
return note(1) in note(l) in note([l]) not in note([l])
---
return [1 < x < 3 for x in l], [x in l in [l] for x in l]
---
return note([]) or note({}) or note(l) and note(0) or note("end")
---
return (note(l) if note(d) else note(o)), (note(1) if not note(l) else note(2))
---
if note([]): return 1
elif note(l): return 2
---
while note(l): l.pop()
else: note("else")
return l
---
return f"{note(l)!r:>{note(20)}} {d} {note(1):03d}"
---
def f(*args, **kwargs): return args, kwargs
return f(note(1), *note(l), *note("ab"), x=note(2), **note(d), **{"z": note(3)})
---
def f(a, b=note("default"), *, c=note(3)): return a, b, c
return f(note(1)), f(c=note(5), a=note(6))
---
return [*note(l), *note(d)], {**note(d), "n": note(1)}, (*l, 1), {*l}
---
f = note(l).append
f(note(9))
return l
---
return note(l).index(note(2)), note("-").join(note(["a", "b"])), note(d).get(note("k"), note(1))
---
return l[note(5)]
---
return d["missing"]
---
return d.pop(
    note("missing"))
---
x = 1
return (o.x +
        o.missing)
---
o.x = 1
o.missing.y = note(2)
---
o.missing += note(2)
---
unbound[note(1)]
unbound = 1
---
return unbound.append(note(1))
---
return undefined.x
---
a, b = l
---
a, *b = 5
---
for x.y in l: pass
---
for x in 5: pass
---
return len(5)
---
return 5 in 5
---
f(*5)
---
return print(*5)
---
return l.append(1, 2)
---
return l.nothing(1)
---
return o()
---
return (1).real()
---
def f(): raise ValueError("x")
try:
    f()
except* ValueError as group:
    x = repr(group)
return x
---
with note(o) as o.x: pass
---
import contextlib
with contextlib.nullcontext(note(1)) as o.x, contextlib.nullcontext(o.x) as (d["a"]), contextlib.nullcontext(2): note(d)
return o.x
---
import contextlib
with contextlib.suppress(KeyError):
    d["missing"]
return note("after")
---
def gen():
    got = yield 1
    note(got)
    yield from note(l)
    return (yield 5)
g = gen()
out = [next(g), g.send("sent"), *g]
return out
---
def gen():
    x = yield from (x for x in l if x)
    return [(yield x), (yield 2)]
return list(gen())
---
n = 0
def up():
    nonlocal n
    n += 1
    return n
return up(), up(), n
---
fs = [lambda: x for x in l]
gs = [lambda x=x: x for x in l]
return [f() for f in fs], [g() for g in gs]
---
fs = []
for x in l: fs.append(lambda: x)
return [f() for f in fs]
---
def outer():
    x = 1
    def inner():
        nonlocal x
        x = [x]
        del x
        x = 5
        return locals()
    return inner(), x
return outer()
---
x = note(1)
self = o
o.x = x
y = d["k"]
return sorted(locals()), "_kc_0" in locals()
---
class C:
    attr = note(1)
    l2 = [i for i in (1, 2)]
    d = {}
    d["k"] = attr
    d["k"] += 1
    x: int = attr
    def __init__(self): self.__private = C.d["k"]
    def get(self): return self.__private
    def kind(self): return __class__.__name__
    @classmethod
    def make(cls): return cls()
    @staticmethod
    def static(x): return x
    @property
    def prop(self): return self.__private
    @prop.setter
    def prop(self, value): self.__private = value
c = C.make()
c.prop = note(7)
c.prop += 1
return c.get(), c.kind(), c.static(l), vars(c), C.l2, C.__annotations__
---
class A:
    def f(self, *a): return ("A", a)
    @property
    def p(self): return "p"
class B(A):
    def f(self, *a): return "B", super().f(*a), super().f(l), super().p
    def g(self): return [super(B, self).f(x) for x in l]
return B().f(1, 2), B().g()
---
class D(dict):
    def __missing__(self, key): return note(key)
    def get(self, key, default=None): return ("mine", super().get(key, default))
x = D(a=1)
return x["z"], x.get("a"), x.pop("a"), len(x), list(x), "a" in x
---
class S:
    __slots__ = ("x", "y")
s = S()
s.x = 1
s.x += 1
del s.x
return hasattr(s, "x"), getattr(s, "y", 5), s.x
---
class Odd:
    def __getattr__(self, name): return note(name)
    def __bool__(self): return note(False)
    def __len__(self): return note(3)
    def __eq__(self, other): return note("eq")
    def __contains__(self, x): return note(x)
    def __getitem__(self, k): return note(k)
    def __setitem__(self, k, v): note((k, v))
    def __iter__(self): return iter(note([1, 2]))
    def __iadd__(self, x): return note(x)
    def __call__(self, *a, **k): return note((a, k))
q = Odd()
r = [q.abc, not q, q == 1, 1 in q, q[1:2, 3], q["k"], list(q), q(1, *l, a=d), q.method(note(1))]
q[1:2] = 5
q[...] += 1
a, b = q
q += 4
return r, q, a, b
---
match note(l):
    case [1, *rest] if note(rest): return rest
    case _: return "no"
---
match {"a": [1, 2], "b": o}:
    case {"a": [x, y], **rest} if rest: return x, y, len(rest)
---
match o:
    case object(x=1): return "one"
    case object(x=0): return "zero"
---
if (n := note(len(l))) > 2 and (m := l) and [k := x for x in m]: return n, m, k
---
return [last := x for x in l], last
---
async def co(): return note(1)
async def agen():
    for x in l: yield x
class CM:
    async def __aenter__(self): return 5
    async def __aexit__(self, *a): note("exit")
async def main():
    async with CM() as o.x: pass
    return [await co() for _ in l], [x async for x in agen()], [x async for x in agen() if x in l], o.x
import asyncio
return asyncio.run(main())
---
import collections
P = collections.namedtuple("P", "a b")
return P(1, 2), P.__module__, [collections.namedtuple("Q", "a").__module__ for _ in (1,)]
---
import sys
def here(): return sys._getframe(1).f_lineno, sys._getframe(1).f_code.co_name
return here(), o.x, here(), \\
    here(), [0, l[0],
             here()]
---
from functools import partial, reduce
return reduce(lambda a, b: a + b, l), partial(l.count)(1), list(map(d.get, d)), sorted(l, key=d.get)
---
try:
    o.x = 1 / 0
except ZeroDivisionError as e:
    return str(e), e.__traceback__.tb_lineno
finally:
    note("finally")
---
assert l, note("no")
assert not l, note("message")
---
global G
G = 1
G += note(1)
def f(): return G, [G for _ in l]
r = f()
del G
return r, f()
---
x = y = z = []
x += [1]
y *= 2
z = z + x
return x is y, x, z
---
i = iter(l)
for a, b in zip(i, i): note((a, b))
return list(i), next(i, "end")
---
for i, (k, v) in enumerate(d.items()): note((i, k, v))
for a, b in [[1, 2], (3, 4), "ab"]: note((a, b))
---
for x in l:
    l.append(note(x))
    if len(l) > 6: break
else: note("never")
return l
---
for k in d: d[k + "x"] = 1
---
s = set(l)
s |= {9}; s -= {1}; s &= s
t = frozenset(s) | s
return s, t, s == t, s < t, s ^ {9}
---
return l + l, l * 2, 2 * l, [1] + l, "%s" % l, "%s %s" % (l, d), l == l[:], l != [1], l < [9]
---
b = bytearray(b"abc")
b += b"d"
b[0] = 65
b[1:2] = b""
del b[0]
return b, bytes(b), "".join(map(chr, b))
---
exec("y = x + 1", {"x": 1}, space := {})
return space, eval("1 + 1"), vars(o)["x"], o.__dict__["x"], type(o).__name__
---
return (lambda x, *a, y=note(2), **k: (x, a, y, k))(note(1), *l, z=3), (lambda: [x for x in l])()
---
def f(x: note("annotation") = 1) -> note("returns"): "doc"
return f.__doc__, f.__name__, f()
---
def f():
    x: note("never")
    y: int = note(1)
    o.z: note("never") = note(2)
    return y
return f(), o.z
---
return {**d}["k"], [1, 2][0], {"a": 1}["a"], (1, 2)[note(1)], "abc"[::2], l[::-1], l[-1:], l[-1]
---
def inner():
    got = None
    try:
        while got != "last": got = note((yield note("inner"), got))
        return "returned"
    except ValueError as error: note(error); yield "caught"; return "raised"
    finally: note("finally")
def outer(): note((yield from inner())); return (yield from inner())
g = outer()
out = [next(g), g.send("sent"), g.gi_yieldfrom.gi_code.co_name, g.send("last"), g.throw(ValueError("thrown"))]
try: next(g)
except StopIteration as end: out.append(end.value)
h = outer()
next(h)
h.close()
return out, h.gi_frame
---
def outer(over): return (yield from over)
out = []
for act in (lambda g: g.send(1), lambda g: g.throw(KeyError("k")), lambda g: g.close(), next, list):
    g = outer(l)
    next(g)
    try: out.append(act(g))
    except Exception as error: out.append(type(error).__name__)
return out
---
class Steps:
    def __iter__(self): return self
    def __next__(self): return note("next")
    def send(self, value): note(value); raise StopIteration(l)
    def throw(self, *error): return note("thrown")
def outer(): return (yield from Steps())
g = outer()
out = [next(g), g.throw(KeyError)]
try: g.send("sent")
except StopIteration as end: out.append(end.value is l)
return out
---
import contextlib
def guarded():
    try: return (yield "given")
    except KeyError: note("seen"); return "swallowed"
@contextlib.contextmanager
def manager(): note((yield from guarded()))
with manager() as got: note(got); d["missing"]
return note("after")
---
def stop(x): raise StopIteration(x)
def outer(): return (yield from map(stop, l))
try: next(outer())
except StopIteration as end: return end.value
---
f = lambda: note((yield note(1)))
g = f()
out = [next(g)]
h = (lambda: (yield from f()))()
try: out += [next(h), h.send(5), g.send(2)]
except StopIteration as end: return out, end.value
---
class Pause:
    def __init__(self, value): self.value = value
    def __await__(self): return (yield self.value)
async def inner(x):
    try: return note(await Pause(x)), await Pause(note("second"))
    except ValueError: return await Pause("caught")
async def outer():
    async with manager() as got: note(got); o.x = await inner(o.l); o.x += (await inner(2),)
    return [await inner(x) for x in l[:1]], {await inner(0): y async for y in steps(2) if await inner(y) is not None}
class manager:
    async def __aenter__(self): return await Pause("enter")
    async def __aexit__(self, *error): note(await Pause("exit"))
async def steps(n):
    for x in range(n):
        got = yield await Pause(x)
        note(got)
async def loop():
    async for o.x in steps(2): note(o.x)
    else: note("else")
    gen = steps(3)
    return await anext(gen), await gen.asend("sent"), await gen.aclose(), [x async for x in steps(2)]
for coroutine in (outer(), loop()):
    value = None
    try:
        while True: value = note(coroutine.send(value))
    except StopIteration as end: note(end.value)
c = inner(1)
c.send(None)
try: return c.throw(ValueError()), c.cr_await is None, c.close()
finally: note("done")
"""

SNIPPETS = [snippet.strip("\n") for snippet in SNIPPETS.split("\n---\n")]

PREAMBLE = """from __future__ import annotations as _annotations
class O:
    def __init__(self): self.x = 0; self.l = None
    def spoil(self): self.x = self.l = 1
    def __repr__(self): return "O()"
def main():
    o, d, l = O(), {"k": 1, "j": 2}, [1, 2, 3]
    o.l = l
"""
