"""Symptoms: features that two findings share if they report the same fault; and the known findings of a target."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kcache_model.finding import Finding, FindingKind
from kcache_model.rules import Rule, Severity

from .suite_options import SuiteOptions

_NOTHING: Final[Mapping[str, str]] = {}
_STANDSTILLS: Final = (FindingKind.DEADLOCK, FindingKind.HANG)
_DESCRIBES: Final = re.compile(
    r"n_\w+|num_\w+|has_(pending_\w+|waiters)|waiters|waiting|owner|qsize|stat(s|us|istics)|get_stat(s|us|istics)|describe|debug_info"
)
"""Names of calls that describe an object and promise nothing: documentation calls their results approximate."""

IS_LEFT_OUT: Final = "is left out"
"""Beginning of the advice about findings with calls that were left out."""
_ENDS: Final = (FindingKind.HANG, FindingKind.CRASH)
"""Kinds of findings that end the whole process."""


_ALSO: Final[Mapping[str, tuple[str, ...]]] = {"hang": ("deadlock", "livelock")}
"""Rule -> the explorer's rules for the same fault."""


def _has_threads(finding: Finding) -> bool:
    return bool(getattr(finding.program, "threads", ()))


@dataclass(frozen=True)
class Symptom:
    """A symptom of a fault.

    Attributes:
        rule: the id of the broken rule; :data:`RAISED` for exceptions, since one line may break several rules.
        call: the call that failed, or that caused a later failure; for threads, the calls in conflict.
        place: the line of the target that raised, or a function in which threads conflict; empty if it is unknown.
    """

    rule: str
    call: str
    place: str = ""


RAISED: Final = "raised"


def _says_more(finding: Finding, other: Finding) -> bool:
    """Whether a confirmed finding reports the same fault, and has an interleaving that the other finding lacks."""
    has_more = finding.interleaving is not None and other.interleaving is None and not finding.unconfirmed
    return has_more and _has_threads(other) and finding.rule == other.rule


def symptoms_of(finding: Finding, rules: Mapping[str, Rule]) -> frozenset[Symptom]:
    """Return the symptoms of a finding, by the rules of its target type; findings that share one report the same fault.

    An exception from one line is the same fault, whatever calls lead to the line. An accepted finding, or advice, has
    symptoms for its own calls only: it must not hide a violation.
    """
    rule, call = rules.get(finding.rule), call_of(finding, rules)
    if finding.location and finding.kind is not FindingKind.DATA_RACE:
        place = f"{finding.location}: {_error_type(finding)}"
        if finding.is_advice or finding.is_waived:
            return frozenset({Symptom(finding.rule, call, place)})
        return frozenset({Symptom(RAISED, "", place), Symptom(finding.rule, call, place)})
    if rule is not None and rule.is_once:
        return frozenset({Symptom(finding.rule, "")})
    return frozenset(Symptom(finding.rule, call, place) for place in _places(finding) or {""})


def call_of(finding: Finding, rules: Mapping[str, Rule]) -> str:
    """Return the call of a finding's symptoms; empty if threads conflict at a known place, whatever they called."""
    if _places(finding):
        return ""
    rule = rules.get(finding.rule)
    return _call(finding, is_of_state=rule is not None and rule.is_of_state)


def _error_type(finding: Finding) -> str:
    return "" if finding.observed is None else finding.observed.message.partition(":")[0]


def _places(finding: Finding) -> frozenset[str]:
    """Return where threads race, wait for each other, or interrupt each other; empty if it is unknown."""
    interleaving = finding.interleaving
    if finding.kind is FindingKind.DATA_RACE:
        return frozenset({finding.location})
    if interleaving is None:
        return frozenset()
    if finding.kind is FindingKind.DEADLOCK and interleaving.waiting:
        return interleaving.waiting_at
    return interleaving.conflicts[0] if interleaving.conflicts else frozenset()


def _call(finding: Finding, *, is_of_state: bool) -> str:
    program = finding.program
    if program is None or not hasattr(program, "operations"):
        return ""
    if finding.core:
        return "+".join(sorted({_name(finding.calls[position].operation) for position in finding.core}))
    threads = getattr(program, "threads", ())
    if threads:
        return "+".join(sorted({_name(operation) for thread in threads for operation in thread}))
    operations = _operations(finding)
    if not operations:
        return ""
    writes = [operation for operation in operations if getattr(operation, "is_write", True)] if is_of_state else ()
    return _name((writes or operations)[-1])


def _operations(finding: Finding) -> list[Any]:
    """Return the operations up to the operation that shows the fault."""
    operations = list(finding.program.operations())
    return operations if finding.step is None else operations[: finding.step + 1]


def _name(operation: object) -> str:
    return str(getattr(operation, "name", operation))


@dataclass(frozen=True)
class KnownFindings:
    """The known findings of a target during a run.

    Attributes:
        rules: of the target type.
        findings: findings with distinct symptoms, in the order of their discovery.
        symptoms: the symptoms of the findings.
        spared: declarations that keep programs from running into known faults.
    """

    rules: Mapping[str, Rule] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    symptoms: frozenset[Symptom] = field(default_factory=frozenset)
    spared: frozenset[str] = field(default_factory=frozenset)

    def has(self, finding: Finding) -> bool:
        """Whether the fault of a finding is known.

        Real threads show no lines. Their finding is known if a confirmed finding of its rule, or one with the same
        symptom, exists; otherwise it is new.
        """
        if not _has_threads(finding) or finding.interleaving is not None:
            return not self.symptoms.isdisjoint(self._symptoms(finding))
        confirmed = [one for one in self.findings if not one.unconfirmed]
        rules = {finding.rule, *_ALSO.get(finding.rule, ())}
        if any(_has_threads(one) and one.rule in rules for one in confirmed):
            return True
        symptoms = set(self._symptoms(finding))
        return any(not symptoms.isdisjoint(self.symptoms_of(one)) for one in confirmed)

    def symptoms_of(self, finding: Finding) -> frozenset[Symptom]:
        """Return the symptoms of a finding."""
        return symptoms_of(finding, self.rules)

    def _symptoms(self, finding: Finding) -> Iterator[Symptom]:
        """Yield its symptoms; for a wrong state, also as if an earlier write of the program had caused it."""
        symptoms = self.symptoms_of(finding)
        yield from symptoms
        rule = self.rules.get(finding.rule)
        if rule is not None and rule.is_of_state and not _has_threads(finding) and finding.program is not None:
            for operation in _operations(finding):
                if getattr(operation, "is_write", True):
                    yield from (replace(symptom, call=_name(operation)) for symptom in symptoms)

    def adding(self, finding: Finding) -> KnownFindings:
        """Return a copy with one more finding; a finding of real threads gives way to an interleaving of its rule."""
        rule = self.rules.get(finding.rule)
        spared = self.spared | ({rule.declaration} if rule is not None and rule.declaration else set())
        if finding.kind in _ENDS and getattr(finding.program, "is_sequential", False):
            spared |= {call_of(finding, self.rules)}  # the call is not made again
        symptoms = self.symptoms | self.symptoms_of(finding)
        others = (one for one in self.findings if not _says_more(finding, one))
        return KnownFindings(self.rules, (*others, finding), symptoms, frozenset(spared))

    def adding_all(self, findings: Iterable[Finding]) -> KnownFindings:
        """Return a copy with the findings that are not known yet."""
        known = self
        for finding in findings:
            known = known if known.has(finding) else known.adding(finding)
        return known


def with_severity(
    finding: Finding,
    rules: Mapping[str, Rule],
    options: SuiteOptions,
    advised_against: Mapping[str, str] = _NOTHING,
) -> Finding:
    """Mark the finding as advice if the contract does not require its rule, and as accepted if the project waives it.

    Args:
        finding: the finding.
        rules: of the target type.
        options: of the run.
        advised_against: the name of a call -> why threads should not make it. A finding with such a call is advice.
    """
    rule = rules.get(finding.rule)
    is_advice = rule is not None and rule.severity(options.contract) is Severity.ADVICE
    names = [_name(operation) for thread in getattr(finding.program, "threads", ()) for operation in thread]
    # A call that raised for all values before the run, and returned in it, was left out wrongly.
    outcomes = ((_name(call.operation), call.outcome) for call in finding.calls)
    returned = {name for name, outcome in outcomes if outcome is not None and not (outcome.error or outcome.waits)}
    excused = {name for name in returned if advised_against.get(name, "").startswith(IS_LEFT_OUT)}
    name = next((name for name in names if name in advised_against and name not in excused), None)
    is_blocked_by_itself = finding.kind in _STANDSTILLS and len(names) == 1  # such a call is wrong
    if name is not None and not is_blocked_by_itself:
        finding, is_advice = replace(finding, advice=f"{name}() {advised_against[name]}"), True
    names_in_core = [_name(finding.calls[position].operation) for position in finding.core]
    if finding.kind is FindingKind.NONLINEARIZABLE and names_in_core and all(map(_DESCRIBES.fullmatch, names_in_core)):
        text = (
            f"{names_in_core[0]} describes the object while other threads use it, so its result may be outdated at once"
        )
        finding, is_advice = replace(finding, advice=text), True
    is_waived = not {finding.rule, waiver_of(finding, rules)}.isdisjoint(options.waived)
    return replace(finding, is_advice=is_advice, is_waived=is_waived)


def waiver_of(finding: Finding, rules: Mapping[str, Rule]) -> str:
    """Return ``RULE:CALL``, which waives this finding and no other finding of its rule."""
    return f"{finding.rule}:{call_of(finding, rules)}"
