"""Errors of the model package."""

from __future__ import annotations


class FormatError(ValueError):
    """A program or history from outside is malformed; the message says where and what is expected."""
