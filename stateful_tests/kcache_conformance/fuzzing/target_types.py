"""Target types of index functions and key functions: one phase, which runs all engines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from kcache_model.codec import Codec
from kcache_model.finding import Finding, FindingKind
from kcache_model.progress import ProgressListener
from kcache_model.rules import common_rules
from kcache_model.verdict import Status
from kcache_stress.target.replay_answer import ReplayAnswer, Replayed
from kcache_stress.target.replay_token import ReplayToken, TokenFormat

from ..phases.phase import PhaseContext, PhaseOutcome
from ..phases.suite_options import SuiteOptions
from ..report.run_report import RunReport
from ..results.events import PhaseFinished, SuiteResult
from ..targets.gallery import Example, function_gallery
from ..targets.target_type import Stopped, TargetType
from .options import FuzzOptions
from .replaying import replay_trial
from .report import FuzzFinding, FuzzReport
from .rules import RULES, Kind, Rule, Severity, as_rules
from .session import fuzz
from .subject import Subject, load_subject, make_subject
from .trial import PREFIX, Trial, decode_trial, encode_trial

PHASE: Final = "fuzz"

_KINDS: Final = {
    Rule.TOTAL: FindingKind.EXCEPTION,
    Rule.TERMINATES: FindingKind.HANG,
    Rule.THREAD_SAFE: FindingKind.NONLINEARIZABLE,
    **dict.fromkeys(
        (Rule.REPEATABLE, Rule.HISTORY, Rule.HASH_SEED, Rule.CLOCK, Rule.ENVIRONMENT), FindingKind.NONDETERMINISM
    ),
}
"""Rule -> kind of its findings; the kind of all other rules is INVARIANT."""


@dataclass(frozen=True)
class TrialTokens(TokenFormat[Trial]):
    """The replay tokens of functions: each contains a trial, see :mod:`.trial`."""

    def encode(self, token: ReplayToken[Trial]) -> str:
        """Return the token as text."""
        return encode_trial(token.program)

    def decode(self, word: str) -> ReplayToken[Trial]:
        """Return the token of a text; the inverse of :meth:`encode`.

        Raises:
            FormatError: the text is no such token, damaged, or cut off.
        """
        trial = decode_trial(word)
        return ReplayToken(trial.spec, trial, kind_of(trial.rule))


def kind_of(rule: Rule) -> FindingKind:
    """Return the kind of the findings of a rule."""
    return _KINDS.get(rule, FindingKind.INVARIANT)


def finding_of(broken_rule: FuzzFinding) -> Finding:
    """Convert a broken rule into a finding."""
    text = RULES[broken_rule.rule]
    lines = (f"Rule: a correct function {text.demand}.", text.why, broken_rule.setting)
    return Finding(
        kind_of(broken_rule.rule),
        PHASE,
        f"{broken_rule.rule.value}: {broken_rule.what}",
        detail="\n".join(filter(None, lines)),
        schedule=broken_rule.word,
        rule=broken_rule.rule.value,
        script=broken_rule.code,
    )


def report_of(report: FuzzReport, title: str, options: SuiteOptions) -> RunReport:
    """Convert the report of fuzzing into the report of all target types, with a phase for each engine."""
    failing = [one for one in report.findings if one.severity is Severity.ERROR]
    findings = tuple(map(finding_of, failing)) if report.status is Status.VIOLATION else ()
    phases = [
        PhaseFinished(
            engine.engine.value,
            {},
            inconclusive=engine.missed,
            finding=next((finding_of(one) for one in failing if one.engine is engine.engine), None),
        )
        for engine in report.engines
    ]
    result = SuiteResult(
        report.status,
        findings,
        tuple(phases),
        (),
        report.reasons,
        report.seconds,
        is_interrupted=report.is_interrupted,
    )
    warnings = [one for one in report.findings if one.severity is Severity.WARNING]
    objects = [f"Objects: {report.shown_objects}."] if report.objects else []
    notes = [f"{note}." for note in report.notes]
    paragraphs = (*objects, *notes, *(f"Warning: {one.rule.value}: {one.what}." for one in warnings))
    return RunReport("fuzz", title, report.name, options, result, paragraphs=paragraphs)


def _phase(kind: Kind, context: PhaseContext) -> PhaseOutcome:
    """Run all engines, in their own child processes."""
    context.watch.rest()  # the child processes are watched by the engines
    options = FuzzOptions(**{**vars(context.options), "budget_seconds": context.seconds, "seed": context.seed})
    report = fuzz(context.spec or context.target, kind, options)
    counts = {"programs": len(report.engines)}
    if report.status is Status.VIOLATION:
        first, *others = map(finding_of, report.errors or report.findings)
        also = "".join(f"\nAlso: {other.summary}" for other in others)
        return PhaseOutcome(counts, Finding(**{**vars(first), "detail": first.detail + also}))
    if report.status is Status.UNKNOWN:
        return PhaseOutcome(counts, refused="; ".join(report.reasons))
    return PhaseOutcome(counts, skipped=report.notes)


def _load(kind: Kind, target: Any) -> Subject:
    return load_subject(target, kind) if isinstance(target, str) else make_subject(target, kind)


def _replay(token: ReplayToken[Trial], watch: ProgressListener, _: float = 0.0) -> Replayed:
    watch.rest()
    trial = token.program
    encoded = encode_trial(trial)
    replayed = replay_trial(encoded)
    note = f"{trial.rule.value} of {trial.spec}: {replayed.note}"
    finding = None
    if replayed.answer is ReplayAnswer.REPRODUCED:
        summary = f"{trial.rule.value}: {replayed.note}"
        finding = Finding(kind_of(trial.rule), "replay", summary, schedule=encoded, rule=trial.rule.value)
    return Replayed(replayed.answer, note, finding)


def _stopped(stopped: Stopped) -> Finding:
    kind = FindingKind.HANG if stopped.is_hang else FindingKind.CRASH
    did = f"did not return within {stopped.options.patience_seconds:g} s" if stopped.is_hang else "ended the process"
    return Finding(kind, stopped.phase, f"loading the function {did}", detail=stopped.detail)


def _no_program(_: object) -> Any:
    return None


def _target_type(kind: Kind, summary: str, reference: str, examples: Callable[[], Sequence[Example]]) -> TargetType:
    return TargetType(
        name=f"{kind.value}-function",
        summary=summary,
        reference=reference,
        phases={PHASE: partial(_phase, kind)},
        load=partial(_load, kind),
        not_tested=lambda _: (),
        stopped=_stopped,
        examples=examples,
        codec=Codec(_no_program, _no_program, _no_program, _no_program),
        tokens=TrialTokens(PREFIX, _no_program, _no_program),
        replay=_replay,
        owns=lambda trial: trial.kind is kind,
        knows=frozenset({"contract"}),
        rules={**common_rules(), **as_rules(kind)},
    )


INDEX_FUNCTION: Final = _target_type(
    Kind.INDEX, "object -> values of an index", "kcache:meta_namespace_index_func", function_gallery
)
KEY_FUNCTION: Final = _target_type(Kind.KEY, "object -> its key", "kcache:meta_namespace_key_func", lambda: ())
