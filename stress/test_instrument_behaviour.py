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

from kcache_stress.instrument import collect_facts, make_hooks, rewrite
from stress.material.explorer_targets.snippets import PREAMBLE, SNIPPETS
from stress.material.gate_support import gate_of

MODES = [(False, False), (True, False), (True, True)]


def build(source, name, *, everything, pauses):
    """Return the rewritten code and the names it needs."""
    tree = ast.parse(source)
    facts = replace(collect_facts(tree), everything_mutable=everything)
    code = compile(rewrite(tree, facts, pauses=pauses), name, "exec")
    return code, make_hooks(lambda item, slot, write: None, gate_of(code), lambda: None)


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


@settings(max_examples=settings.default.max_examples // 2, deadline=None)
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


@pytest.fixture(autouse=True)
def _forgotten_libraries():
    """What looks for instrumented modules later in this process finds none of these."""
    yield
    for name in [name for name in sys.modules if name.startswith("rewritten_")]:
        del sys.modules[name]


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
