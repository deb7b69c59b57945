"""Options of fuzzing: the objects, the rules, and the time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ..phases.suite_options import SuiteOptions, decoded_fields, encode_options
from .rules import RULES, Kind, Rule, Severity, rules_for
from .sources import Sources

DEFAULT_SECONDS = 20.0


@dataclass(frozen=True)
class FuzzOptions(SuiteOptions):
    """The options of a run, and those of fuzzing.

    By the strict contract, violations by adversarial objects, and of rules that only warn, fail the run, too.

    Attributes:
        sources: the sources of objects.
        most_values: the maximum number of values of an object; ``None`` for a number in proportion to its size.
        only: the rules to check; all if empty.
        exclude: rules not to check.
        is_symbolic: whether to use CrossHair if it is installed.
        is_first_enough: whether to stop at the first violation.
    """

    budget_seconds: float = DEFAULT_SECONDS
    sources: Sources = field(default_factory=Sources)
    most_values: int | None = None
    only: tuple[Rule, ...] = ()
    exclude: tuple[Rule, ...] = ()
    is_symbolic: bool = True
    is_first_enough: bool = False

    def rules(self, kind: Kind) -> frozenset[Rule]:
        """Return the rules to check for functions of this kind."""
        chosen = self.only or rules_for(kind)
        return frozenset(chosen) - frozenset(self.exclude)

    def to_json(self) -> dict[str, Any]:
        """Convert the options into JSON, for a child process."""
        data = encode_options(replace(self, sources=replace(self.sources, type_or_strategy=None)))
        return {**data, "only": [rule.value for rule in self.only], "exclude": [rule.value for rule in self.exclude]}

    @staticmethod
    def from_json(data: dict[str, Any]) -> FuzzOptions:
        """Convert JSON into options; the inverse of :meth:`to_json`."""
        sources = Sources(**{**data["sources"], "samples": tuple(data["sources"]["samples"])})
        rules = {name: tuple(Rule(value) for value in data[name]) for name in ("only", "exclude")}
        return FuzzOptions(**{**decoded_fields(data), **rules, "sources": sources})


def severity_of(rule: Rule, *, is_valid: bool) -> Severity:
    """Return the effect of a violation of ``rule`` on the verdict."""
    return RULES[rule].severity if is_valid else Severity.WARNING
