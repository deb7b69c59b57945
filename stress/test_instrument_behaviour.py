"""Rewritten code behaves exactly as before: results, exceptions, line numbers, evaluation order, standard library."""

import ast
import importlib.util
import itertools
import random
import sys
import textwrap
import traceback
import types
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcache_stress.explorer.instrument import collect_facts, make_hooks, rewrite

MODES = [(False, False), (True, False), (True, True)]


def build(source, name, *, everything, pauses):
    """Return the rewritten code and the names it needs."""
    tree = ast.parse(source)
    facts = replace(collect_facts(tree), everything_mutable=everything)
    code = compile(rewrite(tree, facts, pauses=pauses), name, "exec")
    return code, make_hooks(lambda item, slot, write: None, lambda: None)


def outcome(code, hooks):
    """Run a snippet; return what it traced, its result, and the lines of the exception that it raised."""
    trace = []
    namespace = {"__name__": "snippet", "note": lambda x, *rest: trace.append(repr(x)) or (rest[0] if rest else x)}
    namespace |= hooks
    try:
        exec(code, namespace)
        result = repr(namespace["main"]())
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == "snippet.py" and frame.name != "<lambda>"]
        result = (type(error).__name__, str(error), lines)
    return trace, result


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


@pytest.mark.parametrize(("everything", "pauses"), MODES)
@pytest.mark.parametrize("snippet", SNIPPETS)
def test_a_snippet_behaves_as_before(snippet, everything, pauses):
    source = PREAMBLE.removeprefix("from __future__ import annotations as _annotations\n")
    source += textwrap.indent(snippet, "    ")
    code, hooks = build(source, "snippet.py", everything=everything, pauses=pauses)
    assert outcome(code, hooks) == outcome(compile(source, "snippet.py", "exec"), {})


def test_what_must_stay_first_stays_first():
    source = '"""Doc."""\nfrom __future__ import annotations\nclass C:\n  """C."""\ndef f(x: undefined):\n  """F."""'
    code, hooks = build(source, "m.py", everything=True, pauses=True)
    namespace = {"__name__": "m", **hooks}
    exec(code, namespace)
    assert (namespace["__doc__"], namespace["C"].__doc__, namespace["f"].__doc__) == ("Doc.", "C.", "F.")
    assert namespace["f"].__annotations__ == {"x": "undefined"}


def test_objects_die_when_they_did():
    source = """
import weakref
class C: pass
def main(o, d):
    o.a = C()
    alive = weakref.ref(o.a)
    o.a = None
    first = alive() is None
    d["k"] = C()
    alive = weakref.ref(d["k"])
    d.pop("k")
    return first, alive() is None
"""
    code, hooks = build(source, "m.py", everything=True, pauses=False)
    namespace = {"__name__": "m", **hooks}
    exec(code, namespace)
    assert namespace["main"](namespace["C"](), {}) == (True, True)


NAMES = st.sampled_from(["a", "b", "l", "d"])
ATOMS = st.one_of(
    NAMES,
    st.sampled_from(["o.x", "o.l", "d['k']", "l[0]", "l[-1]", "1", "0", "'k'", "[]", "[1, 2]", "{}", "()", "None"]),
)
OPERATORS = st.sampled_from(["+", "-", "*", "|", "==", "<", "in", "not in", "and", "or", "is"])


def _combine(inner):
    pair = st.tuples(inner, inner)
    return st.one_of(
        pair.map(lambda p: f"note({p[0]}, {p[1]})"),
        st.tuples(
            inner, st.sampled_from(["+", "-", "*", "|", "==", "<", "in", "not in", "and", "or", "is"]), inner
        ).map(lambda t: f"({' '.join(t)})"),
        pair.map(lambda p: f"{p[0]}[{p[1]}]"),
        pair.map(lambda p: f"{p[0]}[{p[1]}:]"),
        pair.map(lambda p: f"[{p[0]} for a in {p[1]} if a]"),
        pair.map(lambda p: f"[b for b in [a for a in {p[0]}] if b in {p[1]}]"),
        pair.map(lambda p: f"({p[0]}).get({p[1]}, 5)"),
        pair.map(lambda p: f"({p[0]}).append({p[1]})"),
        pair.map(lambda p: f"({p[0]} if {p[1]} else a)"),
        pair.map(lambda p: f"(lambda a=1: {p[0]})({p[1]})"),
        pair.map(lambda p: f"[*{p[0]}, {p[1]}]"),
        pair.map(lambda p: f"(a := {p[0]}, {p[1]})[0]"),
        inner.map(lambda e: f"len({e})"),
        inner.map(lambda e: f"sorted({e})"),
        inner.map(lambda e: f"(not {e})"),
        inner.map(lambda e: f"list(a for a in {e})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} <= {t[1]} < {t[2]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"note(*{t[0]}, {t[1]}, {t[2]})"),
    )


EXPRESSIONS = st.recursive(ATOMS, _combine, max_leaves=8)
TARGETS = st.sampled_from(["a", "o.x", "o.l", "d['k']", "d[a]", "l[0]", "l[:1]", "a, b", "o.x, *b", "(a, o.x), l[0]"])
SINGLE = st.sampled_from(["a", "o.x", "o.l", "d['k']", "l[0]", "l[:1]"])


def _indent(lines):
    return textwrap.indent("\n".join(lines), "    ")


def _compound(inner):
    body = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.tuples(EXPRESSIONS, body, body).map(lambda t: f"if {t[0]}:\n{_indent(t[1])}\nelse:\n{_indent(t[2])}"),
        st.tuples(TARGETS, EXPRESSIONS, body).map(lambda t: f"for {t[0]} in {t[1]}:\n    tick()\n{_indent(t[2])}"),
        st.tuples(EXPRESSIONS, body).map(lambda t: f"while {t[0]}:\n    tick()\n{_indent(t[1])}"),
        st.tuples(body, body).map(
            lambda t: f"try:\n{_indent(t[0])}\nexcept TypeError as b:\n{_indent(t[1])}\n    b = 0"
        ),
        body.map(lambda t: f"def inner():\n    nonlocal a, b\n    tick()\n{_indent(t)}\ninner()"),
    )


STATEMENTS = st.recursive(
    st.one_of(
        st.tuples(TARGETS, EXPRESSIONS).map(" = ".join),
        st.tuples(SINGLE, TARGETS, EXPRESSIONS).map(" = ".join),
        st.tuples(SINGLE, st.sampled_from(["+=", "*=", "|=", "-="]), EXPRESSIONS).map(" ".join),
        EXPRESSIONS,
        EXPRESSIONS.map(lambda e: f"if {e}: return {e}"),
        st.sampled_from(["d['k']", "l[0]", "l[:1]", "o.x"]).map("del {}".format),
    ),
    _compound,
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(STATEMENTS, min_size=1, max_size=5))
def test_random_programs_behave_as_before(statements):
    source = PREAMBLE + "    a = b = 1\n" + _indent(statements) + "\n    return o.x, o.l, d, l, a, b"
    source = source.replace("from __future__ import annotations as _annotations\n", _TICK)
    try:
        plain = compile(source, "snippet.py", "exec")
    except SyntaxError:
        return  # such as an assignment expression inside the iterable of a comprehension
    code, hooks = build(source, "snippet.py", everything=False, pauses=False)
    assert outcome(code, hooks) == outcome(plain, {})


_TICK = """
steps = iter(range(50))
def tick():
    if next(steps, None) is None: raise RuntimeError("too long")
"""


def library(name):
    """Return a private, rewritten copy of a module of the standard library."""
    spec = importlib.util.find_spec(name)
    with open(spec.origin, encoding="utf-8") as file:
        code, hooks = build(file.read(), spec.origin, everything=True, pauses=True)
    module = types.ModuleType(f"rewritten_{name}")
    module.__file__ = spec.origin
    vars(module).update(hooks)
    sys.modules[module.__name__] = module  # dataclasses look their module up
    exec(code, vars(module))
    return module


def test_queue():
    queue = library("queue")
    for kind, order in ((queue.Queue, [3, 1, 2]), (queue.LifoQueue, [2, 1, 3]), (queue.PriorityQueue, [1, 2, 3])):
        items = kind(3)
        for item in (3, 1, 2):
            items.put_nowait(item)
        with pytest.raises(queue.Full):
            items.put(4, timeout=0.001)
        assert [items.get(timeout=1) for _ in range(items.qsize())] == order
        with pytest.raises(queue.Empty):
            items.get_nowait()


def test_heapq():
    heapq = library("heapq")
    for seed in range(20):
        numbers = [random.Random(seed).randrange(100) for _ in range(30)]
        heap = []
        for number in numbers:
            heapq.heappush(heap, number)
        assert [heapq.heappop(heap) for _ in numbers] == sorted(numbers)
        assert list(heapq.merge(sorted(numbers), [1, 50], reverse=False)) == sorted([*numbers, 1, 50])
        assert heapq.nsmallest(3, numbers, key=lambda n: -n) == sorted(numbers)[:-4:-1]


def test_textwrap():
    rewritten = library("textwrap")
    text = "  The quick brown fox\n    jumped over the   lazy dog, and-then some-more-words. " * 5
    for width, hyphens in itertools.product((5, 20, 70), (True, False)):
        assert rewritten.wrap(text, width, break_on_hyphens=hyphens) == textwrap.wrap(
            text, width, break_on_hyphens=hyphens
        )
    assert rewritten.dedent(text) == textwrap.dedent(text)
    assert rewritten.shorten(text, 40) == textwrap.shorten(text, 40)


def test_dataclasses():
    dataclasses = library("dataclasses")

    @dataclasses.dataclass(order=True, frozen=True)
    class Point:
        x: int
        y: list = dataclasses.field(default_factory=list, compare=False)

    point = Point(1, [2])
    assert (point < Point(2), point == Point(1), repr(point)) == (True, True, point.__repr__())
    assert dataclasses.asdict(dataclasses.replace(point, x=5)) == {"x": 5, "y": [2]}
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.x = 2


def test_contextlib():
    contextlib = library("contextlib")
    log = []

    @contextlib.contextmanager
    def manager(name):
        log.append(name)
        try:
            yield name
        finally:
            log.append(f"/{name}")

    with contextlib.ExitStack() as stack, contextlib.suppress(ZeroDivisionError):
        for name in "ab":
            stack.enter_context(manager(name))
        stack.callback(log.append, "callback")
        raise ZeroDivisionError
    assert log == ["a", "b", "callback", "/b", "/a"]


def test_functools():
    functools = library("functools")
    calls = []

    class Thing:
        @functools.cached_property
        def value(self):
            calls.append(1)
            return 5

        @functools.singledispatchmethod
        def show(self, item):
            return "any"

        @show.register
        def _(self, item: int):
            return "int"

    thing = Thing()
    assert (thing.value + thing.value, calls, thing.show(1), thing.show("")) == (10, [1], "int", "any")
    assert functools.reduce(lambda a, b: a + b, [1, 2, 3]) == 6
