"""Errors of the model package."""

from __future__ import annotations


class FormatError(ValueError):
    """A program or history from outside is malformed; the message says where and what is expected."""


class TargetError(Exception):
    """The implementation cannot be used as a target; the message says what to do about it."""


class UnwindError(BaseException):
    """An exception that kcache raises inside the code under test to end a thread: never an outcome of that code."""


class CannotExploreError(Exception):
    """The explorer cannot run the target; the message says why. Stress tests of the target remain possible."""
