"""A violation: a rule that an object shows to be broken."""

from __future__ import annotations

from dataclasses import dataclass

from ..rules import Rule


@dataclass(frozen=True)
class Violation:
    """One broken rule.

    Attributes:
        rule: which one.
        what: one line: what the function did, beside what it should have done.
    """

    rule: Rule
    what: str
