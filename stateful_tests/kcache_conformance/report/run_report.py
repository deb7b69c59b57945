"""What a run gave, as data for every format."""

from __future__ import annotations

from dataclasses import dataclass

from ..events import PhaseFinished, SuiteResult
from ..suite_options import SuiteOptions


@dataclass(frozen=True)
class RunReport:
    """The outcome of one command.

    Attributes:
        command: which one: ``check``, ``explore``, ``verify``, ``stress``, ``replay``.
        title: what was run, as a command line with its settings.
        target: the name of the target.
        options: of the run.
        result: the outcome.
        headline: one sentence that says it, where nothing was found; by default one that fits the status.
        paragraphs: what else is to be said.
    """

    command: str
    title: str
    target: str
    options: SuiteOptions
    result: SuiteResult
    headline: str = ""
    paragraphs: tuple[str, ...] = ()


def explorer_phase(counts: dict[str, int], result: str = "", *, no_proof: str = "") -> PhaseFinished:
    """The only phase of a command of the explorer; ``result`` says why it is inconclusive."""
    return PhaseFinished("explorer", counts, inconclusive=result, no_proof=no_proof)
