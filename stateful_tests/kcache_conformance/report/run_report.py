"""Outcome of a run, as data for every format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kcache_model.finding import Finding
from kcache_model.render import printable
from kcache_model.verdict import Status

from ..phases.suite_options import SuiteOptions
from ..results.completeness import MethodsReport
from ..results.events import PhaseFinished, SuiteResult
from ..results.exploration_outcomes import Certificate
from ..targets.class_names import PREFIX
from .methods_text import methods_lines


@dataclass(frozen=True)
class RunReport:
    """The outcome of one command.

    Attributes:
        command: its name: ``check``, ``explore``, ``verify``, ``stress``, ``replay``.
        title: the run as a command line with its settings.
        target: the name of the target.
        options: of the run.
        result: the outcome.
        headline: one sentence about the outcome if there are no findings; by default a sentence for the status.
        paragraphs: further remarks.
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
        reported = [finding for finding in result.findings if not finding.is_waived]
        wrong = [finding.rule for finding in reported if not finding.is_advice]
        advice = [finding.rule for finding in reported if finding.is_advice]
        parts = [result.verdict]
        if wrong:
            parts.append(f"{len(wrong)} finding{'s' * (len(wrong) > 1)} ({', '.join(dict.fromkeys(wrong))})")
        if advice:
            parts.append(f"advice ({', '.join(dict.fromkeys(advice))})")
        parts.append(f"{result.seconds:.1f} s")
        evidence = result.shown if result.status is Status.OK else ""
        reasons = "".join(f": {text}" for text in filter(None, ("; ".join(result.reasons), evidence)))
        return " ".join(printable(f"{self.target}: {', '.join(parts)}{reasons}").split())


def verdict_line(result: SuiteResult) -> str:
    """Return the last line of a run: the verdict, its evidence, and the duration of the run."""
    evidence = f": {result.shown}," if result.status is Status.OK and result.shown else ""
    return f"{result.verdict}{evidence} after {result.seconds:.1f} s"


def tested_line(tested: str) -> str:
    """Return the line that names version and file of the code under test."""
    return f"tested: {tested}"


def not_tested_text(kind: str, names: Sequence[str]) -> str:
    """Return a line about the omitted parts.

    Args:
        kind: the type of the target.
        names: the omitted parts; for classes with the reason.
    """
    if not kind.startswith(PREFIX):
        return f"not tested, because the target does not offer it: {', '.join(names)}"
    return f"left out: {', '.join(names)}"


def lines_about_methods(kind: str, result: SuiteResult) -> list[str]:
    """Return lines about the scope of the verdict: the methods of a class, or the features that a target lacks."""
    if result.methods:
        return methods_lines(result.methods)
    return [not_tested_text(kind, result.not_tested)] if result.not_tested else []


def report_of_one_phase(
    report: RunReport,
    status: Status,
    findings: Sequence[Finding],
    counts: Mapping[str, int],
    reason: str = "",
    *,
    no_proof: str = "",
    assumes: str = "",
    not_tested: tuple[str, ...] = (),
    seconds: float = 0.0,
    is_interrupted: bool = False,
    tested: str = "",
    methods: MethodsReport | None = None,
) -> RunReport:
    """Return the report of a command with a single phase, the first phase of its options.

    Args:
        report: without a result.
        status: the verdict.
        findings: the findings.
        counts: the counts.
        reason: why the verdict is UNKNOWN.
        no_proof: why a search proves nothing.
        assumes: what a proof takes for granted about waits with a timeout.
        not_tested: the features that the target lacks.
        seconds: the duration.
        is_interrupted: whether the user stopped it.
        tested: version and file of the code under test.
        methods: the methods that the verdict is about.
    """
    name = report.options.phases[0]
    first = next(iter(findings), None)
    phase = PhaseFinished(
        name,
        counts,
        inconclusive=reason,
        finding=first,
        no_proof=no_proof,
        findings=len(findings),
        assumes=assumes,
    )
    reasons = (f"{name}: {reason}",) if reason and status is Status.UNKNOWN else ()
    result = SuiteResult(
        status,
        tuple(findings),
        (phase,),
        not_tested,
        reasons,
        seconds,
        is_interrupted=is_interrupted,
        tested=tested,
        methods=methods or MethodsReport(),
    )
    return replace(report, result=result)
