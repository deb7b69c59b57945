"""Outcome of a run, as data for every format."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kcache_model.finding import Finding
from kcache_model.render import printable
from kcache_model.verdict import Status

from ..classes import PREFIX
from ..events import PhaseFinished, SuiteResult
from ..runs.outcomes import Certificate, uncalled
from ..suite_options import SuiteOptions

_MOST_NAMED = 3


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
        certificate: of a verification.
    """

    command: str
    title: str
    target: str
    options: SuiteOptions
    result: SuiteResult = field(default_factory=lambda: SuiteResult(Status.UNKNOWN, (), (), (), (), 0.0))
    headline: str = ""
    paragraphs: tuple[str, ...] = ()
    certificate: Certificate | None = None

    @property
    def brief(self) -> str:
        """The outcome in one line: ``TARGET: violation, 2 findings (rule, rule), 12.3 s``."""
        result = self.result
        told = [finding for finding in result.findings if not finding.is_waived]
        wrong = [finding.rule for finding in told if not finding.is_advice]
        advice = [finding.rule for finding in told if finding.is_advice]
        parts = [result.verdict]
        if wrong:
            parts.append(f"{len(wrong)} finding{'s' * (len(wrong) > 1)} ({', '.join(dict.fromkeys(wrong))})")
        if advice:
            parts.append(f"advice ({', '.join(dict.fromkeys(advice))})")
        parts.append(f"{result.seconds:.1f} s")
        parts += filter(None, [without_text(self.options.kind, result)])
        reasons = f": {'; '.join(result.reasons)}" if result.reasons else ""
        return " ".join(printable(f"{self.target}: {', '.join(parts)}{reasons}").split())


def without_text(kind: str, result: SuiteResult) -> str:
    """What an ``ok`` says nothing of: the methods of a class that were never called; empty if there are none."""
    names = uncalled(result.not_tested) if kind.startswith(PREFIX) and result.status is Status.OK else ()
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"without {', '.join(names[:_MOST_NAMED])}{more}" if names else ""


def tested_line(tested: str) -> str:
    """Return the line that names version and file of the code under test."""
    return f"tested: {tested}"


def not_tested_text(kind: str, names: Sequence[str]) -> str:
    """A line about what is not tested; of the methods of a class, also how they can be.

    Args:
        kind: the type of the target.
        names: what is not tested; of classes with the reason, or the parameter that needs a value.
    """
    if not kind.startswith(PREFIX):
        return f"not tested, because the target does not offer it: {', '.join(names)}"
    needs_values = any(re.match(r"\w+\(", name) for name in names)
    advice = "; give values in the rules of a kcache.testing.Machine"
    return f"left out: {', '.join(names)}{advice * needs_values}"


def report_of_one_phase(
    report: RunReport,
    status: Status,
    finding: Finding | None,
    counts: Mapping[str, int],
    reason: str = "",
    *,
    no_proof: str = "",
    not_tested: tuple[str, ...] = (),
    seconds: float = 0.0,
    is_interrupted: bool = False,
    tested: str = "",
) -> RunReport:
    """The report of a command that has one phase only, the first that its options name.

    Args:
        report: without a result.
        status: the verdict.
        finding: what is wrong, if anything.
        counts: what was counted.
        reason: why the verdict is UNKNOWN.
        no_proof: why a search proves nothing.
        not_tested: what the target does not offer.
        seconds: how long it took.
        is_interrupted: whether the user stopped it.
        tested: version and file of the code under test.
    """
    name = report.options.phases[0]
    phase = PhaseFinished(name, counts, inconclusive=reason, finding=finding, no_proof=no_proof)
    findings = () if finding is None else (finding,)
    reasons = (f"{name}: {reason}",) if reason and status is Status.UNKNOWN else ()
    result = SuiteResult(status, findings, (phase,), not_tested, reasons, seconds, (), is_interrupted, tested)
    return replace(report, result=result)
