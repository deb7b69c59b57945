"""The code of modules, made from their sources: the same source is instrumented once, however often it is loaded."""

from __future__ import annotations

import ast
import functools
from types import CodeType

from ..granularity import Granularity
from .call_sites import note_call_sites
from .exposure import expose
from .facts import Facts, collect_facts
from .rewriter import rewrite

_STORES = frozenset({"Cache", "ThreadSafeMap", "new_indexer", "new_store", "new_thread_safe_store"})
_STORE_MODULES = frozenset({"kcache.store", "kcache.thread_safe_store"})
_KEPT = 500


@functools.lru_cache(maxsize=_KEPT)
def read(source: bytes, path: str) -> tuple[Facts, bool]:
    """The facts of a module, and whether it uses the reference's stores, which are part of the implementation then."""
    tree = ast.parse(source, path)
    return collect_facts(tree), _builds_on_the_reference(tree)


@functools.lru_cache(maxsize=_KEPT)
def instrumented(source: bytes, path: str, granularity: Granularity, facts: Facts) -> CodeType:
    """The code of a module that is loaded with others about which all of ``facts`` is known."""
    return instrument(ast.parse(source, path), path, granularity, facts)


def instrument(
    tree: ast.Module, path: str, granularity: Granularity, facts: Facts, only: frozenset[str] | None = None
) -> CodeType:
    """The instrumented code of a tree, which is changed; of ``only`` these classes if some are named."""
    rewritten = rewrite(tree, facts, pauses=granularity is Granularity.GIL, only_classes=only)
    if granularity is Granularity.SYNC:
        rewritten = note_call_sites(expose(rewritten), facts)
    return compile(rewritten, path, "exec", dont_inherit=True)


def _builds_on_the_reference(tree: ast.Module) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "kcache" and not node.level:
            if any(alias.name in _STORES for alias in node.names) or node.module in _STORE_MODULES:
                return True
        elif isinstance(node, ast.Attribute) and node.attr in _STORES:
            return True
    return False
