"""Options of fuzzing: what with, and for how long."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from .rules import RULES, Kind, Rule, Severity, rules_for
from .sources import Sources

DEFAULT_SECONDS = 20.0


@dataclass(frozen=True)
class FuzzOptions:
    """The options of one run.

    Attributes:
        sources: where objects come from.
        seconds: for all engines together. Most functions take less.
        seed: of everything random.
        is_strict: adversarial objects count, too, and rules that only warn fail.
        most_values: how many values an object may have; ``None`` for a number in proportion to its size.
        patience_seconds: how long one call may take.
        only: the rules to check; all if empty.
        exclude: rules not to check.
        is_symbolic: use CrossHair, where it is installed.
        is_first_enough: stop at the first violation.
    """

    sources: Sources = field(default_factory=Sources)
    seconds: float = DEFAULT_SECONDS
    seed: int = 0
    is_strict: bool = False
    most_values: int | None = None
    patience_seconds: float = 3.0
    only: tuple[Rule, ...] = ()
    exclude: tuple[Rule, ...] = ()
    is_symbolic: bool = True
    is_first_enough: bool = False

    def rules(self, kind: Kind) -> frozenset[Rule]:
        """The rules that are checked."""
        chosen = self.only or rules_for(kind)
        return frozenset(chosen) - frozenset(self.exclude)

    def to_json(self) -> dict[str, Any]:
        """For a child process."""
        data = asdict(replace(self, sources=replace(self.sources, given=None)))
        return {**data, "only": [rule.value for rule in self.only], "exclude": [rule.value for rule in self.exclude]}

    @staticmethod
    def from_json(data: dict[str, Any]) -> FuzzOptions:
        """The inverse of :meth:`to_json`."""
        sources = Sources(**{**data["sources"], "samples": tuple(data["sources"]["samples"])})
        rules = {name: tuple(Rule(value) for value in data[name]) for name in ("only", "exclude")}
        return FuzzOptions(**{**data, **rules, "sources": sources})


def severity_of(rule: Rule, *, is_valid: bool) -> Severity:
    """The effect of a violation of ``rule`` on the verdict."""
    return RULES[rule].severity if is_valid else Severity.WARNING
