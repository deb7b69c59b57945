"""Errors that the library raises when an implementation or a function is wrong."""

from __future__ import annotations

from .events import SuiteResult
from .fuzzing.report import FuzzReport


class ConformanceError(AssertionError):
    """The implementation violates the specification; the message shows how.

    Attributes:
        result: everything that the run found.
    """

    def __init__(self, message: str, result: SuiteResult) -> None:
        super().__init__(message)
        self.result = result


class FuzzError(AssertionError):
    """An index function or a key function breaks its contract; the message shows for which object.

    Attributes:
        report: everything that the run found.
    """

    def __init__(self, message: str, report: FuzzReport) -> None:
        super().__init__(message)
        self.report = report


class InconclusiveError(AssertionError):
    """The budget was too small to say anything; this must not pass for success."""
