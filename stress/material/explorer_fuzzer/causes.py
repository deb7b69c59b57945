"""The smallest programs that the explorer once called exhausted although it had not seen all that they do, by cause."""

from __future__ import annotations

from typing import Final

from .generator import PARTS, Design, Step, Work

CAUSES: Final = {
    "computed argument of a foreign method": ("foreign object", "s.b.take(s.names[0])", "seen.append(len(s.b))"),
    "state of the standard library": ("standard library", "s.ra.seed(24)", "seen.append(s.ra.random())"),
    "an operation that calls back": (
        "calls back",
        "s.i.sort(key=s.key_n)",
        "seen.append(Item(s, 1) in s.i)",
    ),
    "a cached property": ("descriptor", "s.o.x = 37", "seen.append((s.o.lazy, s.o._x))"),
    "attributes touched by code that is not rewritten": (
        "foreign base",
        "s.f.high = 4; s.f.low = 4",
        "seen.append(ff.Base.both(s.f))",
    ),
    "a dataclass as a dict": ("dataclass", "s.t.low = 32; s.t.high = 3", "seen.append(dataclasses.asdict(s.t))"),
    "getattr as a value": ("attribute", "s.a += 18", 'seen.append([getattr][0](s, "a"))'),
    "an iterator moved by unpacking": ("iterator", "seen.append([*s.it])", "seen.append(2 in s.it)"),
    "one slot under two names": ("attribute", "s.a = 7", 's.__dict__.update(a=16); seen.append(s.kept["a"])'),
    "a constructor that resets": ("pair", "Plain.__init__(s.p)", 's.p.__dict__ = {"low": 25, "high": 7}'),
    "the class of an object": ("class attribute", "s.z.__class__ = Another", "seen.append(s.z.who())"),
    "a container published before it is filled": (
        "published",
        's.by = by = {}; by["k"] = [24]; by["l"] = [18]',
        "seen.append(sorted(s.by))",
    ),
    "a dict of another package": ("dict subclass", 's.m.pop("p" + "", None)', 's.m.pop("p" + "", None)'),
    "methods of an array": (
        "other containers",
        's.r.extend(array.array("i", [10]))',
        "seen.append(len(s.r))",
    ),
    "a generator handed to a method": (
        "list",
        "s.l.extend(number for number in (39, 40))",
        "seen.append(len(s.l))",
    ),
    "the size when a loop begins": ("dict", 's.d["q"] = 26', "s.d.clear(); seen.append([key for key in s.d])"),
    "a dictionary of attributes that was exchanged": (
        "pair",
        "s.p.__dict__.update(low=14, high=31)",
        's.p.__dict__ = {"low": 29, "high": 4}',
    ),
    "the beginning of a comprehension": (
        "iterator",
        "seen.append(list(map(operator.add, s.it, s.it)))",
        "s.it = iter([31, 34]); seen.append([number for number in s.it])",
    ),
    "an import looks a module up": (
        "modules",
        'sys.modules.pop("fuzzed_plugin", None)',
        'seen.append(importlib.import_module("fuzzed_plugin").value)',
    ),
    "an import reads a name of a module": (
        "modules",
        'sys.modules["fuzzed_plugin"].value = 28',
        'sys.modules["fuzzed_plugin"].value = 22; seen.append(imported_names())',
    ),
    "a switch after a context manager in a generator was entered": (
        "contexts",
        "with s.raised_level(): s.level += 9",
        "seen.append(entered(s.raised_level()))",
    ),
    "a slot read by its descriptor": (
        "attribute methods",
        "s.sl.y = 19",
        'seen.append(Slotted.__dict__["y"].__get__(s.sl, Slotted))',
    ),
    "the keywords of a partial": (
        "partial",
        's.pa.keywords["x"] = 7',
        's.pa.keywords["x"] = 22; seen.append(s.pa())',
    ),
    "the keywords of a partial that map calls": (
        "partial",
        's.pa.keywords.pop("x")',
        "seen.append(list(map(s.pa, [4])))",
    ),
    "a partial of a partial": ("partial", "s.pa.keywords.update(x=11, y=20)", "s.pa = functools.partial(s.pa, y=18)"),
    "an iterator over a text": ("iterator sources", "next(s.st, None)", 'seen.append("".join(s.st))'),
    "the size when zip begins": ("dict", 's.d["q"] = 9', "seen.append(list(zip(s.d, s.d)))"),
    "the size when map begins": ("dict", "s.d.clear()", "seen.append(list(map(str, s.d)))"),
    "an object shown by two threads": ("dataclass", "seen.append(repr(s.t))", "seen.append(repr(s.t))"),
}
"""Cause -> the state that the program is about, and what its threads do."""


def example(cause: str) -> Design:
    """The program; its threads are the pair (0, 1)."""
    name, *threads = CAUSES[cause]
    part = next(part for part in PARTS if part.name == name)
    works = tuple(Work((Step(name, text, text),)) for text in threads)
    return Design((part,), "ff.User", works)
