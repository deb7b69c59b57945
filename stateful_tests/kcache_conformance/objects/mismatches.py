"""Mismatches of programs of one thread, and their findings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kcache_model.call_program import own_hash_seed
from kcache_model.finding import Finding, FindingKind
from kcache_model.history import PREFIX_THREAD
from kcache_model.object_types.step_checks import StepProblem
from kcache_model.outcomes import Outcome
from kcache_model.places import place_in
from kcache_model.render import operation_text, result_text
from kcache_stress.objects.findings import Setting, token_format


@dataclass(frozen=True)
class Mismatch:
    """A difference between an object and its specification.

    Attributes:
        program: the program up to the difference.
        expected: the outcome by the specification.
        observed: the outcome of the object; it waits if the call did not return.
        stacks: the stacks of the call that did not return.
        problem: the problem after the call, if its outcome is right.
    """

    program: Any
    expected: Outcome
    observed: Outcome
    stacks: str = ""
    problem: StepProblem | None = None

    @property
    def kind(self) -> FindingKind:
        """The kind of the violation."""
        if self.problem is not None:
            return self.problem.kind
        if self.observed.waits:
            return FindingKind.HANG
        if self.observed.error is not None and self.expected.error is None:
            return FindingKind.EXCEPTION
        return FindingKind.DIVERGENCE


def finding_of(
    setting: Setting, phase: str, mismatch: Mismatch, *, why: str = "", scenario: str | None = None
) -> Finding:
    """Return the finding of a mismatch; the prefix of its program ends with the wrong call.

    Args:
        setting: of the run.
        phase: the phase that found it.
        mismatch: the mismatch.
        why: the source of the expectation, if it is not the specification alone.
        scenario: id of the recording, if the program comes from a recording.
    """
    object_type, problem = setting.object_type, mismatch.problem
    program = mismatch.program.with_hash_seed(own_hash_seed())
    step = len(program.prefix) - 1
    token = token_format(object_type).encode(setting.token(program, mismatch.kind))
    if problem is not None:
        return Finding(
            problem.kind,
            phase,
            problem.summary,
            program,
            step=step,
            location=problem.location,
            detail=problem.detail,
            scenario=scenario,
            schedule=token,
            rule=problem.rule,
        )
    expected, observed, text = mismatch.expected, mismatch.observed, object_type.outcome_text
    result = "did not return" if observed.waits else result_text(observed, text)
    due = f"expected: {text(expected)}"
    return Finding(
        mismatch.kind,
        phase,
        f"{operation_text(program.prefix[step])} {result}; {due}{f' ({why})' if why else ''}",
        program,
        step=step,
        expected=expected,
        observed=observed,
        location=observed.where or place_in(observed.frames),
        detail=mismatch.stacks,
        scenario=scenario,
        schedule=token,
        script=object_type.script(program, setting.target, {(PREFIX_THREAD, step): f"{result}; {due}"}),
        rule=object_type.rule_of_outcome(program, expected, observed),
    )
