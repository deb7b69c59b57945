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
        rule: which one.
        severity: whether it fails the run.
        tier: whether a store may really hold the object.
        engine: who found it.
        what: what the function did, in one line.
        setting: what else must be so; empty if the object alone is enough.
        code: Python code that makes the objects and calls the function, to be pasted.
        word: the replay token, for ``kcache replay``; empty if there is none, because another process could not load
            the function or be given the object.
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
    """The whole result.

    Attributes:
        name: of the function.
        kind: index or key function.
        status: VIOLATION if a finding fails the run, UNKNOWN if too little was done to say, else OK.
        findings: the broken rules, errors first; one for each rule and each line that raised.
        engines: what each engine did, and what it could not.
        rules: the rules that were looked for.
        objects: what the objects were.
        reasons: for UNKNOWN, why.
        seconds: how long it took.
        is_interrupted: whether the user stopped it.
        are_guessed: whether the objects are only what the function asks for, because nothing says what they are.
        notes: where the objects are not all that their type says.
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
        """The objects in words; empty if there were none."""
        return f"{self.objects}, guessed from what the function asks for" if self.are_guessed else self.objects

    @property
    def errors(self) -> tuple[FuzzFinding, ...]:
        """The findings that fail the run."""
        return tuple(finding for finding in self.findings if finding.severity is Severity.ERROR)
