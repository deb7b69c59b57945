"""Symbolic engine: CrossHair runs the function on symbolic objects, to reach branches that random values miss.

It runs in a child process that can be killed, because the solver does not always return. Its objects are only hints:
the parent passes the concrete object to the function again, without CrossHair.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import sysconfig
import threading
import time
import traceback
from typing import Any

from hypothesis import Phase, given, settings

from kcache_conformance.isolation.worker import Outlet

from ..objects.trees import NotPlainError, encode
from ..options import FuzzOptions
from ..rules import Kind
from ..static_analysis import read
from ..subject import load_subject
from .random_search import UNHURRIED
from .symbolic_objects import SymbolicMaker

_MOST_EXAMPLES = 100_000
_MOST_HINTS = 12
_LEAST_SECONDS = 0.5


def unavailable() -> str:
    """Return the reason why CrossHair cannot be used in this Python; empty if it can."""
    if any(importlib.util.find_spec(name) is None for name in ("crosshair", "hypothesis_crosshair_provider")):
        return 'CrossHair is not installed: pip install "kcache[crosshair]"'
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "CrossHair would turn on the GIL of this free-threaded Python"
    return ""


def caveat() -> str:
    """Return the limits of CrossHair on this version of Python; empty for the versions on which it works best."""
    if sys.version_info >= (3, 13):
        return "on Python 3.13 and later, CrossHair cannot analyse f-strings; on 3.11 and 3.12 it finds more"
    return ""


def symbolic_job(outlet: Outlet, spec: str, kind: str, options: dict[str, Any], seconds: float) -> None:
    """Send the objects for which the function seems to break a rule; runs in the child."""
    began = time.monotonic()
    subject = load_subject(spec, Kind(kind))
    reading = read(subject.function)
    schema = FuzzOptions.from_json(options).sources.schema(subject, reading)
    sent: set[str] = set()
    paths = 0

    @settings(UNHURRIED, backend="crosshair", max_examples=_MOST_EXAMPLES, phases=(Phase.generate,))
    @given(SymbolicMaker(reading).strategy(schema))
    def test(obj: Any) -> None:
        nonlocal paths
        outlet.watch.note("")
        if paths == 0:
            remaining_seconds = seconds - (time.monotonic() - began)  # without what the import of the solver took
            _end_process_after(max(remaining_seconds, _LEAST_SECONDS), outlet)
        paths += 1
        wrong = _symptom(subject.function, subject.kind, obj)
        if wrong and wrong not in sent and len(sent) < _MOST_HINTS:
            tree = _realised(obj)
            if tree is not None:
                sent.add(wrong)
                outlet.send({"event": "hint", "tree": tree})
        outlet.send({"event": "paths", "paths": paths})

    with contextlib.suppress(BaseException):
        test()
    outlet.watch.rest()
    outlet.send({"event": "paths", "paths": paths})


def _end_process_after(seconds: float, outlet: Outlet) -> None:
    """End the process after so many seconds: an exception within a symbolic run would corrupt the record of paths."""

    def stop() -> None:
        outlet.send({"event": "done"})
        os._exit(0)

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()


def _symptom(function: Any, kind: Kind, obj: Any) -> str:
    """Return the symptom in a few words, or ``""``; all rules are checked later, without CrossHair."""
    try:
        returned = function(obj)
    except Exception as error:
        return f"raised {type(error).__name__} {_line(error)}"
    if kind is Kind.KEY:
        return "" if isinstance(returned, str) else "not a str"
    if not isinstance(returned, (list, tuple)):
        return f"returned {type(returned).__name__}"
    if not all(isinstance(value, str) for value in returned):
        return "holds something else"
    if len(returned) > 200:
        return "many values"
    return ""


def _line(error: BaseException) -> str:
    """Return the innermost line of a traceback outside CrossHair, as ``function:line``; empty if there is none."""
    lines = [
        f"{frame.f_code.co_name}:{number}"
        for frame, number in traceback.walk_tb(error.__traceback__)
        if "crosshair" not in frame.f_code.co_filename
    ]
    return lines[-1] if lines else ""


def _realised(obj: Any) -> Any:
    """Convert a symbolic object into a tree of concrete values; ``None`` if it is no plain data."""
    from crosshair import deep_realize  # type: ignore[import-untyped,unused-ignore]

    try:
        return encode(deep_realize(obj))
    except NotPlainError:
        return None
