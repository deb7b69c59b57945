"""Methods of a target as text: called, left out, not compared, not called by threads, often raised."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from ..results.completeness import MethodsReport


def methods_lines(report: MethodsReport) -> list[str]:
    """Return a line for each list that is not empty: ``called: acquire, release``, ``left out: get (async)``."""
    return [f"{title}: {', '.join(texts)}" for title, texts in _lists(report) if texts]


def encode_methods(report: MethodsReport) -> dict[str, Any]:
    """Return the report as plain JSON: the called methods by name; the other methods, each with its reason."""
    return {name: list(methods) if name == "called" else dict(methods) for name, methods in asdict(report).items()}


def _lists(report: MethodsReport) -> Iterator[tuple[str, list[str]]]:
    yield "called", list(report.called)
    yield "left out", _with_reasons(report.left_out)
    yield "not compared", _with_reasons(report.not_compared)
    yield "not called by threads", _with_reasons(report.not_by_threads)
    yield "often raised", _with_reasons(report.mostly_raised)


def _with_reasons(methods: tuple[tuple[str, str], ...]) -> list[str]:
    """Return ``name (reason)`` for each method; methods in a row that have the same reason share it."""
    texts = []
    for reason, group in itertools.groupby(methods, key=lambda method: method[1]):
        names = [name for name, _ in group]
        together = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
        texts += [f"{together} ({reason})"] if reason else names
    return texts
