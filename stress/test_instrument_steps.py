"""What a step of C touches is one access: all its operands, and the containers within them that it looks at."""

import ast
import dis

import pytest

from kcache_stress.engine.events import UnknownAccess
from kcache_stress.instrument.expressions import as_compiled
from stress.test_instrument_reports import Names, load

IMPORTS = "import collections, functools, heapq, inspect, itertools, operator, weakref\n"


def steps(body, change=lambda arguments: None, **given):
    """The steps of a function, each as the named places that it touches, with an exclamation mark for what it writes.

    Args:
        body: what it does to ``n``, a list of the lists ``a`` and ``b``, and to ``t`` and ``d``, that hold them, too.
        change: done to these when the first step is reported: others have come in.
        given: more of them.
    """
    a, b = [1], [2]
    arguments = {"a": a, "b": b, "n": [a, b], "t": (a, b), "d": {"k": a}, "s": {1}, "y": bytearray(b"0"), **given}
    names = Names(arguments)
    found = []

    def together(parts):
        touched = sorted(names(obj) + "!" * kind for kind, obj, _ in parts if names(obj) in arguments)
        found.extend([" ".join(touched)] if touched else [])
        if len(found) == 1:
            change(arguments)

    module = load(
        f"{IMPORTS}def run({', '.join(arguments)}):\n    {body}",
        lambda obj, slot, kind: together([(kind, obj, slot)]),
        together=together,
    )
    module["run"](**arguments)
    return found


LOOKING = {
    "len(n)": ["n"],
    "list(n)": ["n"],
    "n[0]": ["n"],
    "n.append(a)": ["n!"],
    "dict(d)": ["d"],
    "{**d}": ["d"],
    "repr(n)": ["a b n"],
    "f'{n}'": ["a b n"],
    "f'{a}{b}'": ["a", "b"],
    "'%s %s' % (a, b)": ["a", "b"],
    "'%s %s' % t": ["a b"],
    "'{} {}'.format(a, d)": ["a d"],
    "n == [[1], [2]]": ["a b n"],
    "t == (b, a)": ["a b"],
    "[1] in n": ["a b n"],
    "[1] in t": ["a b"],
    "a in [[1]]": ["a"],
    "n.count(b)": ["a b n"],
    "sorted(n)": ["a b n"],
    "sorted([a, b])": ["a b"],
    "max([a, b])": ["a b"],
    "any(n)": ["a b n"],
    "sum(n, [])": ["a b n"],
    "str([a, b])": ["a b"],
    "str(d)": ["a d"],
    "list(map(len, n))": ["a b n"],
    "list(map(list.append, n, [1, 2]))": ["a! b! n"],
    "n.sort()": ["a b n!"],
    "found = [n]; found.sort()": ["a b n"],
    "found = set(); found.update(a, b)": ["a b"],
    "a + b": ["a b"],
    "a.extend(b)": ["a! b"],
    "s | {2}": ["s"],
    "list(zip(a, b))": ["a b"],
    "for _ in zip(a, b): break": ["a b"],
    "[].extend(a)": ["a"],
    "y.hex()": ["y"],
    "y % ()": ["y"],
    "(lambda *p, **k: p)(*a, **d)": ["d", "a"],
    "max(*n)": ["n", "a b"],
}


@pytest.mark.parametrize("body", LOOKING)
def test_steps(body):
    assert steps(body) == LOOKING[body]


def test_a_step_is_reported_again_if_it_touches_something_else_by_then():
    late = [3]
    assert steps("repr(n)", lambda given: given["n"].append(late), late=late) == ["a b n", "a b late n"]
    assert steps("repr(n)", lambda given: given["n"].pop()) == ["a b n"]


def test_objects_with_code_of_their_own_make_it_imprecise():
    class Shown:
        def __repr__(self):
            return "shown"

    slots = []
    shown = [Shown()]
    module = load("def run(x): return repr(x)", lambda obj, slot, kind: slots.append(slot))
    assert module["run"]([shown, [1]])
    assert {type(slot) for slot in slots} == {UnknownAccess}
    assert len(slots) == 3


FORMATS = [
    *("%s", "%s and %r%%", "%a", "%5s", "%-5s", "%.2r", "%05s", "%-05.3s", "%+s", "% s", "%.s", "%s%s", ""),
    *("%d", "%(a)s", "%", "%i %s", "%*s", "%1234s", "{%s}", "%s%"),
]


@pytest.mark.parametrize("text", FORMATS)
@pytest.mark.parametrize("operands", ["a,", "a, b", ""])
def test_texts_are_taken_apart_where_the_compiler_does_so(text, operands):
    source = f"{text!r} % ({operands})"
    joined = as_compiled(ast.parse(source, mode="eval").body)
    compiled = {instruction.opname for instruction in dis.get_instructions(compile(source, "", "eval"))}
    if operands:
        assert (joined is None) == ("BINARY_OP" in compiled)
    if joined is not None:
        code = compile(ast.fix_missing_locations(ast.Expression(joined)), "", "eval")
        given = {"a": "hello", "b": [1.5, "\u00e9"]}
        assert eval(code, dict(given)) == eval(source, dict(given))
