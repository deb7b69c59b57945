"""Errors of the model package."""

from __future__ import annotations


class FormatError(ValueError):
    """A program or history from outside is malformed; the message says where and what is expected."""


class TargetError(Exception):
    """The implementation cannot be used as a target; the message says what to do about it."""


class UnwindError(BaseException):
    """Raised by kcache through code under test, to end what it does: never an outcome of that code."""


class CannotExploreError(Exception):
    """The target cannot be put under the explorer; the message says why. Stress still serves."""
