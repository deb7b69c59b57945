"""Methods of a target as text: called, left out, not compared, often raised."""

from __future__ import annotations

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
    yield "often raised", _with_reasons(report.mostly_raised)


def _with_reasons(methods: tuple[tuple[str, str], ...]) -> list[str]:
    return [f"{name} ({reason})" if reason else name for name, reason in methods]
