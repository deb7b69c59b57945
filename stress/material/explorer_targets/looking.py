# ruff: noqa: D102, D103
"""Code that looks at itself; what it sees is the same when it is instrumented. Each function gives what it saw."""

import contextlib
import sys
import weakref


def annotations():
    def function(number: int, *rest: "text") -> dict[str, int]: ...  # noqa: F821  # pyright: ignore

    class Record:
        field: int = 0

    return function.__annotations__, Record.__annotations__


class Box:
    """Something that can be referred to weakly."""

    def __init__(self, full=True):
        self.full = full

    def items(self):
        return [self.full]


def names_of_variables():
    first = len([first + "c" for first in "ab"] + [*"de"])
    seen = {"dir": dir(), "vars": dict(vars()), "locals": dict(locals())}
    return seen, first


def functions_of_the_module():
    there = [globals(), vars(sys.modules[__name__])] if __name__ in sys.modules else [globals()]
    return [sorted(name for name, value in space.items() if callable(value)) for space in there]


def _boxed(references, full=True):
    box = Box(full)
    references.append(weakref.ref(box))
    return box


def what_lives_while_a_block_runs():
    references, seen = [], []

    def look():
        seen.append([reference() is not None for reference in references])
        return True

    if _boxed(references).full:
        look()
    if _boxed(references, False).full:
        pass
    else:
        look()
    for _ in _boxed(references).items():
        look()
    while _boxed(references, len(references) < 6).full:
        look()
    else:
        look()
    with contextlib.nullcontext([_boxed(references).full]) as seen[0:0]:
        look()
    return seen


def what_lives_after_an_error():
    references = []

    def fail(_box):
        raise ValueError

    try:
        fail(_boxed(references).full)
        fail([_boxed(references), len(references)])
    except ValueError:
        return references[0]() is None
