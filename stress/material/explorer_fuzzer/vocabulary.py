"""What generated programs are made of: state that threads share, and the many ways to write and to read it."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """Some shared state.

    Attributes:
        name: what it is called in tables.
        init: statements that make it anew, of ``s``.
        writes: statements that change it, one a line; NUM is a number of its own, KEY one of a few keys.
        reads: expressions that look at it, one a line; what they give is compared.
        final: an expression for what is left in the end.
        top: statements of the module.
        methods: of the class of ``s``.
        locks: whether it needs the virtual ``threading``.
    """

    name: str
    init: str
    writes: tuple[str, ...]
    reads: tuple[str, ...]
    final: str
    top: str = ""
    methods: str = ""
    locks: bool = False


def part(
    name: str, init: str, final: str, writes: str, reads: str, *, top: str = "", methods: str = "", locks: bool = False
) -> Part:
    """A part, from text."""
    top, methods = (textwrap.dedent(text).strip("\n") for text in (top, methods))
    return Part(name, textwrap.dedent(init).strip(), _lines(writes), _lines(reads), final, top, methods, locks)


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.strip().splitlines() if line.strip())
