"""Rule that decides whether a finding of the explorer is a violation. Every command follows this rule.

A finding is a violation if real threads confirm it. If real threads did not try it, the finding is a violation if the
explorer observed all code that ran in its execution. Otherwise the finding is not confirmed.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import Final

from kcache_model.finding import ENDLESS, Finding, FindingKind

from .. import interpreter
from ..engine.counterexample import Possible

_NOT_REPEATABLE: Final = (
    "the explorer cannot repeat a schedule; if the cause is state in a module, such as a cache, that is not a fault"
)
_NEEDS_FREE_THREADS: Final = " (this Python has a GIL; free-threaded Python may fail)"


class Answer(enum.Enum):
    """The result of a confirmation."""

    CONFIRMED = "confirmed"
    NOT_CONFIRMED = "not confirmed"
    """Real threads ran the same calls and did not fail."""
    CONTRADICTED = "contradicted"
    """Real threads also fail when they run one after another, so concurrency is not the cause."""
    NOT_TRIED = "not tried"


@dataclass(frozen=True)
class Confirmation:
    """The answer of real threads to a finding.

    Attributes:
        answer: the result.
        text: one line without a period: how real threads failed, or why the finding is not confirmed; may be empty.
    """

    answer: Answer
    text: str = ""

    @property
    def is_confirmed(self) -> bool:
        """Whether real threads failed in the same way."""
        return self.answer is Answer.CONFIRMED


def answer_of_runs(kind: FindingKind, observed: FindingKind | None) -> Confirmation:
    """Compare a finding with the failure of free runs, in which the harness pauses no thread.

    Args:
        kind: the kind of the finding.
        observed: the kind of failure in the free runs; ``None`` if they did not fail.
    """
    if observed is None:
        return Confirmation(Answer.NOT_CONFIRMED, "real threads did not fail in the same program")
    if (observed in ENDLESS) != (kind in ENDLESS):
        return Confirmation(
            Answer.NOT_CONFIRMED, "real threads failed in the same program, but with another kind of failure"
        )
    return Confirmation(Answer.CONFIRMED, f"confirmed on {interpreter.name()}: real threads fail in the same program")


def with_confirmation(finding: Finding, confirmation: Confirmation, unseen: str) -> Finding:
    """Return the finding with ``unconfirmed`` and ``detail`` set as the rule of this module requires.

    Args:
        finding: the finding of the explorer.
        confirmation: the answer of real threads.
        unseen: why the finding may be an artefact, as the sandbox reports; empty if all code was observed.
    """
    text, detail = confirmation.text, finding.detail
    is_contradicted = confirmation.answer is Answer.CONTRADICTED
    if confirmation.is_confirmed:
        if interpreter.has_gil():
            detail = detail.replace(Possible.FREE_THREADED, Possible.PAUSED)
        return replace(finding, unconfirmed="", detail=_lines(detail, text))
    if confirmation.answer is Answer.NOT_TRIED:
        return replace(finding, unconfirmed=_reasons(finding.unconfirmed, unseen), detail=_lines(detail, text))
    if interpreter.has_gil() and Possible.FREE_THREADED in detail:
        text += _NEEDS_FREE_THREADS
    artefact = "" if is_contradicted else ": it may be an artefact"
    return replace(finding, unconfirmed=_reasons(f"{text}{artefact}", unseen))


def why_not_repeated(kind: FindingKind) -> str:
    """Reason why a finding of kind NONDETERMINISM is not a fault of the target; empty for all other kinds."""
    return _NOT_REPEATABLE if kind is FindingKind.NONDETERMINISM else ""


def _reasons(*reasons: str) -> str:
    return "; ".join(filter(None, reasons))


def _lines(*texts: str) -> str:
    return "\n".join(filter(None, texts))
