"""Symptoms: what two findings have in common if they tell of the same fault; and what is known of a target so far."""

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
"""Names of calls that describe an object rather than promise something: documentation calls them approximate."""

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
        rule: the id of the rule that is broken; :data:`RAISED` of exceptions, which may break several by one line.
        call: the call that failed, or left behind what a later one shows; of threads, the calls that met.
        place: the line of the target that raised, or a function in which threads met; empty if that is not known.
    """

    rule: str
    call: str
    place: str = ""


RAISED: Final = "raised"


def _says_more(finding: Finding, other: Finding) -> bool:
    """Whether a confirmed finding tells of the same, and has an interleaving where the other one has none."""
    has_more = finding.interleaving is not None and other.interleaving is None and not finding.unconfirmed
    return has_more and _has_threads(other) and finding.rule == other.rule


def symptoms_of(finding: Finding, rules: Mapping[str, Rule]) -> frozenset[Symptom]:
    """The symptoms of a finding, by the rules of its target type; findings that share one tell of the same fault.

    What a call raises is the same fault whatever calls lead to the line. What is accepted or advice stands for its own
    calls alone: it must not hide a violation.
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
    """The call of the symptoms of a finding; empty if threads met at a place that is known, whatever they called."""
    if _places(finding):
        return ""
    rule = rules.get(finding.rule)
    return _call(finding, is_of_state=rule is not None and rule.is_of_state)


def _error_type(finding: Finding) -> str:
    return "" if finding.observed is None else finding.observed.message.partition(":")[0]


def _places(finding: Finding) -> frozenset[str]:
    """Where threads race, wait for each other, or interrupt each other; empty if that is not known."""
    told = finding.interleaving
    if finding.kind is FindingKind.DATA_RACE:
        return frozenset({finding.location})
    if told is None:
        return frozenset()
    if finding.kind is FindingKind.DEADLOCK and told.waiting:
        return told.waiting_at
    return told.conflicts[0] if told.conflicts else frozenset()


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
        """Whether the same has been found before; of real threads, which show no lines, something of the same rule.

        What real threads show is new as long as nothing of its rule is confirmed.
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
        """The symptoms of a finding."""
        return symptoms_of(finding, self.rules)

    def _symptoms(self, finding: Finding) -> Iterator[Symptom]:
        """Its symptoms; of a state that is wrong, also as if an earlier write of the program had left it so."""
        symptoms = self.symptoms_of(finding)
        yield from symptoms
        rule = self.rules.get(finding.rule)
        if rule is not None and rule.is_of_state and not _has_threads(finding) and finding.program is not None:
            for operation in _done(finding):
                if getattr(operation, "is_write", True):
                    yield from (replace(symptom, call=_name(operation)) for symptom in symptoms)

    def adding(self, finding: Finding) -> Known:
        """The same and one finding more; what real threads showed of its rule gives way to an interleaving."""
        rule = self.rules.get(finding.rule)
        spared = self.spared | ({rule.declaration} if rule is not None and rule.declaration else set())
        if finding.kind in _ENDS and getattr(finding.program, "is_sequential", False):
            spared |= {call_of(finding, self.rules)}  # it is not called again
        symptoms = self.symptoms | self.symptoms_of(finding)
        others = (one for one in self.findings if not _says_more(finding, one))
        return Known(self.rules, (*others, finding), symptoms, frozenset(spared))

    def adding_all(self, findings: Iterable[Finding]) -> Known:
        """The same and those findings that are not known."""
        known = self
        for finding in findings:
            known = known if known.has(finding) else known.adding(finding)
        return known


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
    told = [_name(finding.calls[position].operation) for position in finding.core]
    if finding.kind is FindingKind.NONLINEARIZABLE and told and all(map(_DESCRIBES.fullmatch, told)):
        text = f"{told[0]} describes the object while others use it, and promises nothing of the next moment"
        finding, is_advice = replace(finding, advice=text), True
    is_waived = not {finding.rule, waiver_of(finding, rules)}.isdisjoint(options.waived)
    return replace(finding, is_advice=is_advice, is_waived=is_waived)


def waiver_of(finding: Finding, rules: Mapping[str, Rule]) -> str:
    """``RULE:CALL``, with which this finding and no other of its rule is waived."""
    return f"{finding.rule}:{call_of(finding, rules)}"
