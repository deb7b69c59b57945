"""Errors that the library raises when an implementation or a function is wrong."""

from __future__ import annotations

from .results.events import SuiteResult


class ConformanceError(AssertionError):
    """An implementation violates the specification; the message shows how.

    Attributes:
        result: the result of the whole run.
    """

    def __init__(self, message: str, result: SuiteResult) -> None:
        super().__init__(message)
        self.result = result


class InconclusiveError(AssertionError):
    """The budget was too small for a verdict; this must not count as success."""
