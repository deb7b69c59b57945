"""The result of fuzzing as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from kcache_model.verdict import Status

from .evidence import Engine, EngineReport
from .judging.violation import InputClass
from .rules import Kind, Rule, Severity


@dataclass(frozen=True)
class FuzzFinding:
    """One broken rule.

    Attributes:
        rule: the rule.
        severity: whether it fails the run.
        tier: whether a store may really hold the object.
        engine: the engine that found it.
        what: one line about the behaviour of the function.
        setting: further conditions; empty if the object alone breaks the rule.
        code: Python code to paste, which creates the objects and calls the function.
        word: the replay token, for ``kcache replay``; empty if another process cannot load the function or receive the
            object.
    """

    rule: Rule
    severity: Severity
    tier: InputClass
    engine: Engine
    what: str
    setting: str
    code: str
    word: str = ""


@dataclass(frozen=True)
class FuzzReport:
    """The whole result of fuzzing one function.

    Attributes:
        name: the name of the function.
        kind: index or key function.
        status: VIOLATION if a finding fails the run, UNKNOWN if too little was tried for a verdict, else OK.
        findings: the broken rules, errors first; one for each rule and each line that raised.
        engines: the work of each engine, and its limits.
        rules: the rules that were checked.
        objects: the type of the objects, as text.
        reasons: the reasons for UNKNOWN.
        seconds: the duration.
        is_interrupted: whether the user stopped the run.
        are_guessed: whether the objects were inferred from the function's accesses, because no type was specified.
        notes: limits of the objects, such as fields of their type that are omitted.
    """

    name: str
    kind: Kind
    status: Status
    findings: tuple[FuzzFinding, ...]
    engines: tuple[EngineReport, ...]
    rules: tuple[Rule, ...]
    objects: str = ""
    reasons: tuple[str, ...] = ()
    seconds: float = 0.0
    is_interrupted: bool = False
    are_guessed: bool = False
    notes: tuple[str, ...] = ()

    @property
    def shown_objects(self) -> str:
        """The type of the objects as text; empty if there were none."""
        return f"{self.objects}, guessed from the fields that the function reads" if self.are_guessed else self.objects

    @property
    def errors(self) -> tuple[FuzzFinding, ...]:
        """The findings that fail the run."""
        return tuple(finding for finding in self.findings if finding.severity is Severity.ERROR)


class FuzzError(AssertionError):
    """An index function or a key function breaks its contract; the message shows for which object.

    Attributes:
        report: the report of the whole run.
    """

    def __init__(self, message: str, report: FuzzReport) -> None:
        super().__init__(message)
        self.report = report
