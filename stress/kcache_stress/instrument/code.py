"""Instrumented code of modules. Each source is instrumented once, even if it is loaded several times."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

from ..engine.granularity import Granularity
from ..garbage import NoCollections
from ..knowledge.tables import CLOCK_NAMES
from . import build
from .code_cache import digest, kept
from .facts import Facts, collect_facts
from .rewriter import rewrite

_STORES = frozenset({"Cache", "ThreadSafeMap", "new_indexer", "new_store", "new_thread_safe_store"})
_STORE_MODULES = frozenset({"kcache.store", "kcache.thread_safe_store"})
_KEPT = 500
_LIBRARIES: dict[tuple[str, Granularity], CodeType] = {}


@dataclass(frozen=True)
class Reading:
    """Data extracted from the source of a module.

    Attributes:
        facts: the facts about the names that the module stores.
        builds_on_the_reference: whether the module uses stores of the reference implementation; if it does, they are
            part of the implementation under test.
        words: all names and string literals in the source.
    """

    facts: Facts
    builds_on_the_reference: bool
    words: frozenset[str]


@functools.lru_cache(maxsize=_KEPT)
def read(source: bytes, path: str) -> Reading:
    """Extract the data of one module from its source."""
    facts, builds_on_the_reference, words = kept(("facts", digest(source)), lambda: _read(source, path))
    return Reading(Facts(*facts), builds_on_the_reference, words)


def _read(source: bytes, path: str) -> tuple[tuple[object, ...], bool, frozenset[str]]:
    with NoCollections():
        tree = ast.parse(source, path)
        return collect_facts(tree).as_tuple(), _builds_on_the_reference(tree), frozenset(_words(tree))


def instrumented(source: bytes, path: str, granularity: Granularity, facts: Facts) -> CodeType:
    """Return the instrumented code of a module; ``facts`` are the facts of all modules that are loaded with it."""
    return _instrumented(source, path, granularity, facts.about(read(source, path).words))


@functools.lru_cache(maxsize=_KEPT)
def _instrumented(source: bytes, path: str, granularity: Granularity, facts: Facts) -> CodeType:
    key = ("code", digest(source), path, granularity.name, facts.as_tuple(sorted))
    code: CodeType = kept(key, lambda: instrument(ast.parse(source, path), path, granularity, facts))
    return code


def instrumented_library(
    parse: Callable[[], ast.Module], path: str, granularity: Granularity, only: frozenset[str] | None
) -> CodeType:
    """Return the instrumented code of a standard library module, rewritten with its own facts alone.

    All sandboxes share the code. ``only`` is as in :func:`instrument`.
    """

    def make() -> CodeType:
        tree = parse()
        return instrument(tree, path, granularity, collect_facts(tree), only)

    if (path, granularity) not in _LIBRARIES:
        key = ("library", digest(Path(path).read_bytes()), path, granularity.name)
        _LIBRARIES[path, granularity] = kept(key, make)
    return _LIBRARIES[path, granularity]


def _words(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        for value in vars(node).values():
            for part in value if type(value) is list else (value,):
                if type(part) is str:
                    yield part


def instrument(
    tree: ast.Module, path: str, granularity: Granularity, facts: Facts, only: frozenset[str] | None = None
) -> CodeType:
    """Return the instrumented code of a tree, which is changed; ``only`` restricts it to these top-level classes."""
    with NoCollections():
        rewritten = rewrite(tree, facts, pauses=granularity is Granularity.GIL, only_classes=only)
        return compile(rewritten, path, "exec", dont_inherit=True)


@functools.lru_cache(maxsize=_KEPT)
def with_virtual_dates(source: bytes, path: str) -> CodeType:
    """Return the code of a module that is not instrumented, except that a hook provides dates and times."""
    code: CodeType = kept(("dates", digest(source), path), lambda: _with_virtual_dates(source, path))
    return code


def _with_virtual_dates(source: bytes, path: str) -> CodeType:
    tree = ast.parse(source, path)
    for node in ast.walk(tree) if any(name.encode() in source for name in CLOCK_NAMES) else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CLOCK_NAMES:
            node.func = build.place(build.call("clock", node.func), node.func)
    return compile(tree, path, "exec", dont_inherit=True)


def _builds_on_the_reference(tree: ast.Module) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "kcache" and not node.level:
            if any(alias.name in _STORES for alias in node.names) or node.module in _STORE_MODULES:
                return True
        elif isinstance(node, ast.Attribute) and node.attr in _STORES:
            return True
    return False
