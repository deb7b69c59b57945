"""Label selectors, such as ``app=web,tier in (a, b),!legacy`` (apimachinery ``labels``)."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass

from .errors import SelectorError, quoted


class Operator(enum.Enum):
    """The comparison of one requirement with the value of its label."""

    EQUALS = "="
    NOT_EQUALS = "!="
    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"
    GREATER_THAN = ">"
    LESS_THAN = "<"


@dataclass(frozen=True)
class Requirement:
    """One condition on one label. ``values`` is empty for the two existence operators, single for comparisons."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether ``labels`` satisfy the condition. ``!=`` and ``notin`` hold for a missing label."""
        present = self.key in labels
        match self.operator:
            case Operator.EXISTS:
                return present
            case Operator.DOES_NOT_EXIST:
                return not present
            case Operator.EQUALS | Operator.IN:
                return present and labels[self.key] in self.values
            case Operator.NOT_EQUALS | Operator.NOT_IN:
                return not present or labels[self.key] not in self.values
            case Operator.GREATER_THAN | Operator.LESS_THAN:
                return present and self._compares(labels[self.key])

    def _compares(self, text: str) -> bool:
        (bound,) = self.values
        if not _is_integer(text):
            return False
        return int(text) > int(bound) if self.operator is Operator.GREATER_THAN else int(text) < int(bound)


@dataclass(frozen=True)
class Selector:
    """All of ``requirements`` must hold; ``matches_nothing`` overrules them."""

    requirements: tuple[Requirement, ...] = ()
    matches_nothing: bool = False

    @property
    def is_everything(self) -> bool:
        """Whether the selector matches every object, so that labels need not be read."""
        return not self.requirements and not self.matches_nothing

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether ``labels`` satisfy every requirement; O(number of requirements)."""
        return not self.matches_nothing and all(requirement.matches(labels) for requirement in self.requirements)


def everything() -> Selector:
    """The selector that matches any object."""
    return Selector()


def nothing() -> Selector:
    """The selector that matches no object."""
    return Selector(matches_nothing=True)


def parse_selector(text: str) -> Selector:
    """Parse a selector: conditions joined by commas, all of which must hold.

    Conditions: ``key=value``, ``key==value``, ``key!=value``, ``key in (a, b)``, ``key notin (a, b)``, ``key``,
    ``!key``, ``key>1``, ``key<1``. The empty text matches everything.

    Raises:
        SelectorError: ``text`` is no selector.
    """
    if not text.strip(_BLANKS):
        return everything()
    requirements = []
    position = 0
    while True:
        match = _CONDITION.match(text, position)
        if match is None:
            raise SelectorError(f"cannot read {quoted(text)} as a label selector from {quoted(text[position:])} on")
        requirements.append(_requirement(match))
        position = match.end()
        if position == len(text):
            return Selector(tuple(requirements))
        if text[position] != ",":
            raise SelectorError(
                f"expected a comma in the label selector {quoted(text)} before {quoted(text[position:])}"
            )
        position += 1


_BLANKS = " \t\r\n"  # Kubernetes accepts no other white space
_INTEGER = re.compile(r"[+-]?[0-9]{1,63}")
_KEY = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?(?:/[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_VALUE = r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_CONDITION = re.compile(
    rf"""[{_BLANKS}]*(?:
        ![{_BLANKS}]*(?P<absent>{_KEY})
      | (?P<set_key>{_KEY})[{_BLANKS}]+(?P<set_operator>in|notin)[{_BLANKS}]*\((?P<set_values>[^()]*)\)
      | (?P<key>{_KEY})[{_BLANKS}]*(?P<operator>==|=|!=|>|<)[{_BLANKS}]*(?P<value>{_VALUE})
      | (?P<present>{_KEY})
    )[{_BLANKS}]*(?=,|$)""",
    re.VERBOSE,
)


def _requirement(match: re.Match[str]) -> Requirement:
    if match["absent"] is not None:
        return Requirement(match["absent"], Operator.DOES_NOT_EXIST)
    if match["present"] is not None:
        return Requirement(match["present"], Operator.EXISTS)
    if match["set_key"] is not None:
        values = [value.strip(_BLANKS) for value in match["set_values"].split(",")]
        for value in values:
            if not re.fullmatch(_VALUE, value):
                raise SelectorError(f"{quoted(value)} is not a label value in {quoted(match[0])}")
        return Requirement(match["set_key"], Operator(match["set_operator"]), frozenset(values))
    operator = Operator("=" if match["operator"] == "==" else match["operator"])
    if operator in (Operator.GREATER_THAN, Operator.LESS_THAN) and not _is_integer(match["value"]):
        raise SelectorError(f"{quoted(match[0])} compares with {quoted(match['value'])}, which is not an integer")
    return Requirement(match["key"], operator, frozenset([match["value"]]))


def _is_integer(text: str) -> bool:
    """Whether Kubernetes accepts ``text`` as a number: decimal, and within 64 bits."""
    return _INTEGER.fullmatch(text) is not None and -(2**63) <= int(text) < 2**63
