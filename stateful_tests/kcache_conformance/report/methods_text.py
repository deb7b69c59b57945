"""Methods of a target, by what a run did with them: called, left out, not compared, mostly raised."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class MethodsReport:
    """The methods of a target, by what a run did with them.

    Attributes:
        called: methods that were called and returned at least once.
        left_out: methods that were never called, each with the reason.
        not_compared: methods whose results were not judged, each with the reason.
        mostly_raised: methods that raised in most of their calls, each with the error and how often.
    """

    called: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    not_compared: tuple[tuple[str, str], ...] = ()
    mostly_raised: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        """Whether anything is known about methods."""
        return any((self.called, self.left_out, self.not_compared, self.mostly_raised))


def methods_lines(report: MethodsReport) -> list[str]:
    """One line for each list that is not empty: ``called: acquire, release``, ``left out: get (async)``."""
    return [f"{title}: {', '.join(texts)}" for title, texts in _lists(report) if texts]


def encode_methods(report: MethodsReport) -> dict[str, Any]:
    """The report as plain JSON: methods by name; those that are not simply called, each with its reason."""
    return {name: list(methods) if name == "called" else dict(methods) for name, methods in asdict(report).items()}


def _lists(report: MethodsReport) -> Iterator[tuple[str, list[str]]]:
    yield "called", list(report.called)
    yield "left out", _with_reasons(report.left_out)
    yield "not compared", _with_reasons(report.not_compared)
    yield "mostly raised", _with_reasons(report.mostly_raised)


def _with_reasons(methods: tuple[tuple[str, str], ...]) -> list[str]:
    return [f"{name} ({reason})" if reason else name for name, reason in methods]
