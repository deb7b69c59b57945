"""Methods of a class that require its lock to be held: the class calls them so, or their documentation says so.

A finding from calling such a method directly only shows how not to use the class. It is advice.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import Final

from kcache_model.object_types.plain_driver import INCOMPARABLE

from ..phases.symptoms import IS_LEFT_OUT

_LOCK_NAME: Final = re.compile(r"lock|mutex|cond", re.IGNORECASE)
_LOCK_CLASSES: Final = frozenset({"Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "allocate_lock"})
_SAYS_SO: Final = re.compile(
    r"\block\b.{0,20}\b(must|has to|needs to|should)\b(?!\W+(not|never)\b).{0,20}\bbe (held|taken|acquired)"
    r"|\b(must|has to|should)\b(?!\W+(not|never)\b).{0,20}\b(hold|own|have acquired)\b.{0,20}\block\b"
    r"|\bwith (the |its |this )?.{0,20}\block held\b|\bwith self\.\w+ held\b|(?<!without )\bholding the lock\b"
    r"|\b(assum|requir|expect|call|must|only|while|when)\w*\b.{0,40}\block (is|be) held\b",
    re.IGNORECASE | re.DOTALL,
)


@functools.cache
def methods_called_under_lock(kind: type) -> frozenset[str]:
    """Return the names of public methods that the class calls while it holds its lock, and that do not take the lock.

    Methods whose documentation requires the lock are included. A class without source has none.
    """
    bodies = [body for base in kind.__mro__ if base is not object and (body := _body(base)) is not None]
    locks = {name for body in bodies for name in _locks(body)}
    called, taking, documented = set[str](), set[str](), set[str]()
    for body in bodies:
        for method in body.body:
            if not isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            held = list(_held(method, locks))
            called |= {name for block in held for name in _own_calls(block)}
            if held:
                taking.add(method.name)
            if _SAYS_SO.search(ast.get_docstring(method) or ""):
                documented.add(method.name)
    return frozenset(name for name in (called - taking) | documented if not name.startswith("_"))


def _body(kind: type) -> ast.ClassDef | None:
    try:
        statement = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return None
    return statement if isinstance(statement, ast.ClassDef) else None


def _locks(body: ast.ClassDef) -> Iterator[str]:
    """Yield the attributes of ``self`` to which the class assigns a new lock, or whose names suggest a lock."""
    for node in ast.walk(body):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            called = node.value.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in _LOCK_CLASSES:
                yield from filter(None, map(_own, node.targets))
        elif (own := _own(node)) and _LOCK_NAME.search(own):
            yield own


def _held(method: ast.FunctionDef | ast.AsyncFunctionDef, locks: set[str]) -> Iterator[ast.With | ast.AsyncWith]:
    for node in ast.walk(method):
        if isinstance(node, (ast.With, ast.AsyncWith)) and any(_own(item.context_expr) in locks for item in node.items):
            yield node


def _own_calls(block: ast.AST) -> Iterator[str]:
    for node in ast.walk(block):
        if isinstance(node, ast.Call) and (name := _own(node.func)):
            yield name


def _own(node: ast.AST) -> str:
    """Return the name in ``self.NAME``; empty for other expressions."""
    is_own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.attr if is_own and isinstance(node, ast.Attribute) else ""


def advice_of_left_out(left_out: Iterable[str]) -> dict[str, str]:
    """Return the omitted calls, from texts of ``TargetType.not_tested`` -> why findings with them are only advice."""
    advice: dict[str, str] = {}
    for text in left_out:
        name, _, reason = text.partition(" (")
        is_called = " " in name or INCOMPARABLE in reason  # ``what NAME returns (...)``
        if reason and not is_called:
            advice[name] = f"{IS_LEFT_OUT}: {reason.removesuffix(')')}"
    return advice
