"""A violation: a rule that an object shows to be broken; and the class of the object, on which its weight depends."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TypeAlias

from ..rules import Rule


class InputClass(enum.StrEnum):
    """The class of an object: a store may really hold it, or only a mistake elsewhere could put it there."""

    VALID = "legal"
    """The API server, the type or the schema allows it: a violation fails."""
    ADVERSARIAL = "hostile"
    """Nobody promised that it works: a violation is a warning."""


Symptom: TypeAlias = tuple[Rule, str, InputClass]
"""A broken rule, the line that raised, and the class of the object."""


@dataclass(frozen=True)
class Violation:
    """One broken rule.

    Attributes:
        rule: which one.
        what: one line: what the function did, beside what it should have done.
        place: the line that raised; empty if nothing was raised.
    """

    rule: Rule
    what: str
    place: str = ""

    def symptom(self, input_class: InputClass) -> Symptom:
        """What is told once: a rule and the line that raised; of objects that nobody should give, just the rule."""
        return self.rule, self.place if input_class is InputClass.VALID else "", input_class
