"""Modules with many small threads, drawn from the vocabulary; any two of their threads are a program."""

from __future__ import annotations

import random
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from . import private_work
from .containers import CONTAINERS, KINDS
from .iterators import C_ITERATORS
from .language import LANGUAGE
from .library import OF_LIBRARY
from .objects import OBJECTS
from .synchronised import SYNCHRONISED
from .vocabulary import Part

PARTS = (*OBJECTS, *CONTAINERS, *SYNCHRONISED, *LANGUAGE, *C_ITERATORS, *OF_LIBRARY)

_IMPORTS = """
import argparse
import array
import bisect
import collections
import configparser
import contextlib
import copy
import dataclasses
import functools
import heapq
import importlib
import io
import itertools
import json
import operator
import random
import struct
import sys
import traceback
import types
"""
_LOCKS = """
import queue
import threading
"""
_FOREIGN = "from stress.material.explorer_fuzzer import foreign as ff"
_KEYS = ('"p"', '"q"')

_WRAPPERS = (
    "{body}",
    "for _ in (1, 2):\n{inner}",
    "try:\n{inner}\nexcept KeyError:\n    seen.append('KeyError')",
    "def inner():\n{inner}\ninner()",
    "if s is not None:\n{inner}",
    "with contextlib.suppress(IndexError):\n{inner}",
)
_PLAIN = 6
"""How much likelier than any other wrapper the first one is."""
_SHARE_WIDE = 0.15
"""Share of the modules that are wide."""


@dataclass(frozen=True)
class Step:
    """A statement of a thread.

    Attributes:
        part: whose.
        text: what it says.
        template: what that was made of.
    """

    part: str
    text: str
    template: str


@dataclass(frozen=True)
class Work:
    """What a thread does.

    Attributes:
        steps: one after another.
        wrapper: what is around them.
        pauses: before which steps a function is called that does nothing: where a global lock can be given up.
    """

    steps: tuple[Step, ...]
    wrapper: str = _WRAPPERS[0]
    pauses: frozenset[int] = frozenset()

    def source(self, name: str, *, is_wide: bool = False) -> str:
        """Return the function; if it is wide, with private work before and after the steps."""
        lines = []
        for position, step in enumerate(self.steps):
            if position in self.pauses:
                lines.append("nop()")
            lines.append(step.text)
        body = "\n".join(lines) or "pass"
        wrapped = self.wrapper.format(body=body, inner=textwrap.indent(body, "    "))
        before, after = (f"    {private_work.NAME}({seed})\n" if is_wide else "" for seed in (1, 2))
        return f"def {name}(s):\n    seen = []\n{before}{textwrap.indent(wrapped, '    ')}\n{after}    return seen\n"


@dataclass(frozen=True)
class Design:
    """A module.

    Attributes:
        parts: the state.
        kind: the class of mappings that it is about.
        works: the threads to choose from.
        is_wide: whether each thread does private work before and after its steps.
    """

    parts: tuple[Part, ...]
    kind: str
    works: tuple[Work, ...]
    is_wide: bool = False

    def source(self) -> str:
        """The module."""
        inits = "\n".join("        " + re.sub(r"\bs\b", "self", part.init) for part in self.parts)
        methods = "\n".join(
            textwrap.indent(textwrap.dedent(part.methods), "    ") for part in self.parts if part.methods
        )
        tops = "\n\n".join(textwrap.dedent(part.top) for part in self.parts)
        finals = "\n".join(f"    seen.append(({part.final},))" for part in self.parts)
        works = [work.source(f"work{number}", is_wide=self.is_wide) for number, work in enumerate(self.works)]
        threads = "\n\n".join([private_work.SOURCE.lstrip("\n"), *works] if self.is_wide else works)
        text = f"""{_imports(self)}

def nop():
    pass

{tops}

class S:
    def __init__(self):
{inits}
{methods}

def make():
    return S()

def final(s):
    seen = []
{finals}
    return seen

{threads}
"""
        return text.replace("KIND", self.kind)


def _imports(design: Design) -> str:
    """What the module needs, and no more: what is imported decides what is loaded privately."""
    texts = [design.kind]
    for part in design.parts:
        texts += [part.init, part.final, part.top, part.methods]
    for work in design.works:
        texts += [work.wrapper, *(step.text for step in work.steps)]
    everything = "\n".join(texts)
    names = (line.split()[1] for line in f"{_IMPORTS}{_LOCKS}".split("\n") if line)
    lines = [f"import {name}" for name in names if re.search(rf"\b{name}\.", everything)]
    return "\n".join([*lines, *([_FOREIGN] if "ff." in everything else [])])


def design(seed: int, works: int = 10) -> Design:
    """The module with that number."""
    draw = random.Random(seed)
    main = PARTS[seed % len(PARTS)]
    others = draw.sample([part for part in PARTS if part is not main], draw.choice((0, 0, 0, 1)))
    parts = (main, *others)
    drawn = tuple(_work(draw, parts) for _ in range(works))
    return Design(parts, draw.choice(KINDS), drawn, is_wide=draw.random() < _SHARE_WIDE)


def _work(draw: random.Random, parts: Sequence[Part]) -> Work:
    count = draw.choice((1, 1, 2, 2, 3))
    steps = tuple(_step(draw, parts[0] if draw.random() < 0.7 else draw.choice(parts)) for _ in range(count))
    wrapper = draw.choice((*(_WRAPPERS[:1] * _PLAIN), *_WRAPPERS[1:]))
    return Work(steps, wrapper, frozenset(at for at in range(1, count) if draw.random() < 0.5))


def _step(draw: random.Random, part: Part) -> Step:
    if draw.random() < 0.5:
        template = draw.choice(part.writes)
        text = template
    else:
        template = draw.choice(part.reads)
        text = f"seen.append(({template},))" if "," in template else f"seen.append({template})"
    text = re.sub("NUM", lambda _: str(draw.randint(2, 40)), text)
    text = re.sub("KEY", lambda _: draw.choice(_KEYS), text)
    return Step(part.name, text, template)
