"""Symptoms: what two findings have in common if they tell of the same fault; and what is known of a target so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kcache_model.finding import Finding, FindingKind
from kcache_model.rules import Rule, Severity

from .suite_options import SuiteOptions

_NOTHING: Final[Mapping[str, str]] = {}
_STANDSTILLS: Final = (FindingKind.DEADLOCK, FindingKind.HANG)
_ENDS: Final = (FindingKind.HANG, FindingKind.CRASH)
"""What costs the whole process."""


_ALSO: Final[Mapping[str, tuple[str, ...]]] = {"hang": ("deadlock", "livelock")}
"""Rule -> what the explorer calls that."""


def _has_threads(finding: Finding) -> bool:
    return bool(getattr(finding.program, "threads", ()))


@dataclass(frozen=True)
class Symptom:
    """What shows of a fault.

    Attributes:
        rule: the id of the rule that is broken.
        call: the call that failed, or left behind what a later one shows; of threads, the calls that met.
        place: the line of the target where it happened, or those where threads met; empty if that is not known.
    """

    rule: str
    call: str
    place: str = ""


def _says_more(finding: Finding, other: Finding) -> bool:
    """Whether it tells of the same, and has an interleaving where the other one has none."""
    has_more = finding.interleaving is not None and other.interleaving is None
    return has_more and _has_threads(other) and finding.rule == other.rule


def symptom_of(finding: Finding, rules: Mapping[str, Rule]) -> Symptom:
    """The symptom of a finding, by the rules of its target type."""
    rule = rules.get(finding.rule)
    conflict = "" if finding.interleaving is None else finding.interleaving.conflict
    if finding.kind is FindingKind.DATA_RACE:
        return Symptom(finding.rule, "", finding.location)
    if conflict:
        return Symptom(finding.rule, "", conflict)  # whatever calls lead there
    call = _call(finding, is_of_state=rule is not None and rule.is_of_state)
    return Symptom(finding.rule, call, finding.location)


def _call(finding: Finding, *, is_of_state: bool) -> str:
    program = finding.program
    if program is None or not hasattr(program, "operations"):
        return ""
    if finding.core:
        return "+".join(sorted({_name(finding.calls[position].operation) for position in finding.core}))
    threads = getattr(program, "threads", ())
    if threads:
        return "+".join(sorted({_name(operation) for thread in threads for operation in thread}))
    done = _done(finding)
    if not done:
        return ""
    writes = [operation for operation in done if getattr(operation, "is_write", True)] if is_of_state else ()
    return _name((writes or done)[-1])


def _done(finding: Finding) -> list[Any]:
    """The operations up to the one that shows it."""
    operations = list(finding.program.operations())
    return operations if finding.step is None else operations[: finding.step + 1]


def _name(operation: object) -> str:
    return str(getattr(operation, "name", operation))


@dataclass(frozen=True)
class Known:
    """What is known of a target in the course of a run.

    Attributes:
        rules: of the target type.
        findings: of distinct symptoms, in the order in which they were made.
        symptoms: theirs.
        spared: the declarations with which programs are spared what is known to be wrong.
    """

    rules: Mapping[str, Rule] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    symptoms: frozenset[Symptom] = field(default_factory=frozenset)
    spared: frozenset[str] = field(default_factory=frozenset)

    def has(self, finding: Finding) -> bool:
        """Whether the same has been found before; of real threads, which show no lines, something of the same rule."""
        if not self.symptoms.isdisjoint(self._symptoms(finding)):
            return True
        if not _has_threads(finding) or finding.interleaving is not None:
            return False
        rules = {finding.rule, *_ALSO.get(finding.rule, ())}
        return any(_has_threads(one) and one.rule in rules for one in self.findings)

    def symptom(self, finding: Finding) -> Symptom:
        """The symptom of a finding."""
        return symptom_of(finding, self.rules)

    def _symptoms(self, finding: Finding) -> Iterator[Symptom]:
        """Its symptom; of a state that is wrong, also as if an earlier write of the program had left it so."""
        symptom = self.symptom(finding)
        yield symptom
        rule = self.rules.get(finding.rule)
        if rule is not None and rule.is_of_state and not _has_threads(finding) and finding.program is not None:
            for operation in _done(finding):
                if getattr(operation, "is_write", True):
                    yield replace(symptom, call=_name(operation))

    def adding(self, finding: Finding) -> Known:
        """The same and one finding more; what real threads showed of its rule gives way to an interleaving."""
        rule = self.rules.get(finding.rule)
        spared = self.spared | ({rule.declaration} if rule is not None and rule.declaration else set())
        if finding.kind in _ENDS and getattr(finding.program, "is_sequential", False):
            spared |= {self.symptom(finding).call}  # it is not called again
        symptoms = self.symptoms | {self.symptom(finding)}
        others = (one for one in self.findings if not _says_more(finding, one))
        return Known(self.rules, (*others, finding), symptoms, frozenset(spared))


def weighed(
    finding: Finding,
    rules: Mapping[str, Rule],
    options: SuiteOptions,
    advised_against: Mapping[str, str] = _NOTHING,
) -> Finding:
    """The finding as advice, if the contract does not ask for its rule; as accepted, if the project waives it.

    Args:
        finding: to be weighed.
        rules: of the target type.
        options: of the run.
        advised_against: the name of a call -> why threads are not to make it. What goes wrong with it is advice.
    """
    rule = rules.get(finding.rule)
    is_advice = rule is not None and rule.severity(options.contract) is Severity.ADVICE
    made = [_name(operation) for thread in getattr(finding.program, "threads", ()) for operation in thread]
    name = next((name for name in made if name in advised_against), None)
    if name is not None and not (finding.kind in _STANDSTILLS and len(made) == 1):  # what waits for itself is wrong
        finding, is_advice = replace(finding, advice=f"{name}() {advised_against[name]}"), True
    is_waived = not {finding.rule, waiver_of(finding, rules)}.isdisjoint(options.waived)
    return replace(finding, is_advice=is_advice, is_waived=is_waived)


def waiver_of(finding: Finding, rules: Mapping[str, Rule]) -> str:
    """``RULE:CALL``, with which this finding and no other of its rule is waived."""
    return f"{finding.rule}:{symptom_of(finding, rules).call}"
