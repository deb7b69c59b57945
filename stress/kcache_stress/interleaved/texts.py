"""Texts about a test body: labels of its threads, sentences about failed assertions, and the source of the test."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import traceback
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any, Final

from kcache_model.outcomes import with_article
from kcache_model.places import file_name, short_path

FAILED_CHECK: Final = "the test fails: "
"""Beginning of the text of :func:`failed_check`."""
WAITS_FOR_EVER: Final = "the loop waits for ever"
"""Message of a forced loop in which nothing can go on. Its class has the text itself: tests contain the class."""

_LONGEST: Final = 60
_MOST_VALUES: Final = 4


def call_texts(caller: FrameType, works: Sequence[Any]) -> list[str]:
    """Return the source of each function passed to ``run``; the names if the source of the call cannot be matched."""
    tree = _parsed(caller.f_code.co_filename)
    line = caller.f_lineno
    for node in ast.walk(tree) if tree is not None else ():
        if not isinstance(node, ast.Call) or not node.lineno <= line <= (node.end_lineno or 0):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name == "run" and len(node.args) == len(works) and not any(isinstance(a, ast.Starred) for a in node.args):
            return [_text(argument) for argument in node.args]
    return [f"{getattr(work, '__name__', type(work).__name__)}()" for work in works]


def failed_check(error: AssertionError) -> str:
    """Return one sentence about a failed assertion: its text, its place, and the values of the names in it."""
    frames = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__) if not _is_own(frame)]
    if not frames:
        return f"{FAILED_CHECK}{error}"
    frame, line = frames[-1]
    place = f"{file_name(frame.f_code.co_filename)}:{line} in {frame.f_code.co_name}"
    statement = _assertion(frame.f_code.co_filename, line)
    if statement is None:
        return f"{FAILED_CHECK}{str(error) or linecache.getline(frame.f_code.co_filename, line).strip()} ({place})"
    message = f": {error}" if str(error) else ""
    values = ", ".join(_values(statement.test, frame))
    return f"{FAILED_CHECK}assert {ast.unparse(statement.test)}{message} ({place}){f'; {values}' if values else ''}"


def source_of(function: Any) -> str:
    """Return the source of a test without its indentation; empty if it cannot be read."""
    try:
        return inspect.cleandoc("\n" + inspect.getsource(inspect.unwrap(function)))
    except (OSError, TypeError):
        return ""


def lines_of(function: Any) -> tuple[str, int, int] | None:
    """Return the path of the file of a test, and its first and last line; ``None`` if the source cannot be read."""
    function = inspect.unwrap(function)
    try:
        lines, first = inspect.getsourcelines(function)
        return short_path(inspect.getsourcefile(function) or ""), first, first + len(lines) - 1
    except (OSError, TypeError):
        return None


def short(value: object) -> str:
    """Return the ``repr`` of a value in one line of at most 60 characters; ``a TYPE`` if it has none of its own."""
    try:
        text = with_article(type(value).__name__) if type(value).__repr__ is object.__repr__ else repr(value)
    except Exception:
        text = f"a {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _is_own(frame: FrameType) -> bool:
    module: str = frame.f_globals.get("__name__", "")
    return module.startswith(("kcache_stress.", "unittest."))


def _text(argument: ast.expr) -> str:
    if isinstance(argument, ast.Lambda):
        return ast.unparse(argument.body)
    return f"{ast.unparse(argument)}()"


def _assertion(path: str, line: int) -> ast.Assert | None:
    tree = _parsed(path)
    assertions = (node for node in ast.walk(tree) if isinstance(node, ast.Assert)) if tree is not None else ()
    return next((node for node in assertions if node.lineno <= line <= (node.end_lineno or 0)), None)


def _values(test: ast.expr, frame: FrameType) -> Iterator[str]:
    """Yield ``NAME = VALUE`` for the first four names and attributes of an expression; calls are not repeated."""
    nodes = [node for node in ast.walk(test) if isinstance(node, (ast.Name, ast.Attribute))]
    inner = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    inner |= {id(node.func) for node in ast.walk(test) if isinstance(node, ast.Call)}
    for text in list(dict.fromkeys(ast.unparse(node) for node in nodes if id(node) not in inner))[:_MOST_VALUES]:
        name, *attributes = text.split(".")
        try:
            value = functools.reduce(getattr, attributes, frame.f_locals[name])
        except (KeyError, AttributeError):
            continue
        rendered = short(value)
        if " at 0x" not in rendered:
            yield f"{text} = {rendered}"


def _parsed(path: str) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError):
        return None


def error_with_place(error: BaseException) -> str:
    """Return type and place of an exception, ``NAME at FILE:LINE``: equal for virtual and for real threads."""
    frames = traceback.walk_tb(error.__traceback__)
    places = [
        f"{file_name(frame.f_code.co_filename)}:{line}"
        for frame, line in frames
        if frame.f_globals.get("__name__") != "threading" and not _is_own(frame)
    ]
    return f"{type(error).__name__} at {places[-1] if places else 'the start of a thread'}"


def is_same_failure(error: BaseException, summary: str) -> bool:
    """Whether an error has the type that the summary of a problem names."""
    is_check = isinstance(error, AssertionError) and summary.startswith(FAILED_CHECK)
    return is_check or f" ended with {type(error).__name__}: " in summary
