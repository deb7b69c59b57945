"""Tests without kcache: a finding about an event loop as a file that needs nothing but Python and asyncio."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Final

from ..runtime.tasks.sources import CANCEL
from .confirming_on_loops import Orders
from .forced_loop import ForcedLoop
from .named_test import InterleavedTest

_MOST_LETTERS: Final = 160
"""Length of the summary: one or two lines of an editor."""
_OF_KCACHE: Final = re.compile(rb"^\s*(from|import) kcache\b", re.MULTILINE)
_IN_PLACE_OF_KCACHE: Final = """\
kcache = types.ModuleType("kcache")  # what the test uses of it
kcache.testing = sys.modules["kcache.testing"] = types.ModuleType("kcache.testing")
kcache.testing.io = lambda value=None: asyncio.get_running_loop().complete(value)
kcache.testing.interleaved = lambda test=None, **_: test or (lambda test: test)
sys.modules["kcache"] = kcache"""


def standalone_test(test: InterleavedTest, orders: Orders | None, summary: str) -> str:
    """Return a test that shows a finding without kcache: it runs the test in asyncio's own loop, with its arrivals.

    The test passes when the fault is repaired.

    Args:
        test: the test.
        orders: the arrivals of its failing execution; ``None`` if they cannot be forced upon asyncio's own loop.
        summary: summary of the failure.

    Returns:
        The source; empty if there is no order, or if pytest has to prepare the test: it takes fixtures or parameters.
    """
    if orders is None or test.needs_pytest:
        return ""
    path = Path(test.path)
    module = test.module if isinstance(test.module, str) else path.stem
    imports = ["asyncio", "math", *([] if isinstance(test.module, str) else ["sys"])]
    start = [] if isinstance(test.module, str) else [f"sys.path.insert(0, {str(path.parent)!r})"]
    if _OF_KCACHE.search(path.read_bytes()):
        imports = ["asyncio", "math", "sys", "types"]
        start += _IN_PLACE_OF_KCACHE.splitlines()
    owner, _, name = test.attribute.rpartition(".")
    body = f"{module}.{test.attribute}" if not owner else f"{module}.{owner}().{name}"
    if test.is_unittest:
        body = f"{module}.{owner}({name!r}).debug"
    run = f"asyncio.run({body}())" if test.is_async and not test.is_unittest else f"{body}()"
    is_cancelled = any(what == CANCEL for order in orders for some in order.values() for what, _ in some)
    if is_cancelled:  # that may end the test, which is no fault
        imports.insert(1, "contextlib")
    lines = [
        f'"""Of {test.attribute}, in asyncio\'s own loop: {_in_one_line(summary)}."""',
        "",
        *(f"import {name}" for name in imports),
        "",
        *start,
        "",
        f"import {module}  # noqa: E402",
        "",
        "",
        *_untyped(ForcedLoop),
        "",
        "",
        "def test_it_fails_in_this_order(monkeypatch):",
        f"    ForcedLoop.ORDERS = {[dict(order) for order in orders]}",
        "    for place in (asyncio, asyncio.events):",
        '        monkeypatch.setattr(place, "new_event_loop", ForcedLoop)',
        *(
            [f"    {run}"]
            if not is_cancelled
            else ["    with contextlib.suppress(asyncio.CancelledError):", f"        {run}"]
        ),
    ]
    return "\n".join(lines) + "\n"


def _untyped(kind: type) -> list[str]:
    """Return the source of a class without types, comments, and docstrings of methods."""
    (tree,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(tree, ast.ClassDef)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            if ast.get_docstring(node) is not None:
                del node.body[0]
            for argument in (*node.args.args, node.args.vararg, node.args.kwarg):
                if argument is not None:
                    argument.annotation = None
        for field in ("body", "orelse"):
            statements = getattr(node, field, None)
            if isinstance(statements, list):
                statements[:] = map(_without_type, statements)
    return [line for line in ast.unparse(tree).splitlines() if line]


def _without_type(statement: ast.stmt) -> ast.stmt:
    if not isinstance(statement, ast.AnnAssign) or statement.value is None:
        return statement
    return ast.copy_location(ast.Assign([statement.target], statement.value), statement)


def _in_one_line(summary: str) -> str:
    return " ".join(summary.replace("\\", "/").replace('"', "'").split())[:_MOST_LETTERS]
