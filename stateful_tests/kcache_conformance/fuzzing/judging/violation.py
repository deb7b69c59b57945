"""Violation of a rule by an object, and the class of the object, which decides the severity."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TypeAlias

from ..rules import Rule


class InputClass(enum.StrEnum):
    """The class of an object: a store may really hold it, or only a bug elsewhere could put it there."""

    VALID = "legal"
    """The API server, the type or the schema allows the object: a violation fails the run."""
    ADVERSARIAL = "hostile"
    """The function need not support the object: a violation is a warning."""


Symptom: TypeAlias = tuple[Rule, str, InputClass]
"""A broken rule, the line that raised, and the class of the object."""


@dataclass(frozen=True)
class Violation:
    """One broken rule.

    Attributes:
        rule: the rule.
        what: one line about the actual and the expected behaviour of the function.
        place: the line that raised; empty if nothing was raised.
    """

    rule: Rule
    what: str
    place: str = ""

    def symptom(self, input_class: InputClass) -> Symptom:
        """Return the symptom, which is reported once: the rule and, for valid objects only, the line that raised."""
        return self.rule, self.place if input_class is InputClass.VALID else "", input_class
