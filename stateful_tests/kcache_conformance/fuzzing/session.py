"""A whole run of fuzzing: the engines in child processes, one after another, and the report of their findings."""

from __future__ import annotations

import json
import queue
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from kcache_conformance.isolation import STARTUP_SECONDS, JobEnd, raise_if_failed, run_job
from kcache_conformance.isolation.journal import MemoryJournal
from kcache_conformance.isolation.watchdog import Watchdog
from kcache_model.errors import FormatError, TargetError
from kcache_model.progress import ProgressListener
from kcache_model.verdict import Status
from kcache_stress.interruption import Interrupted
from kcache_stress.target.replay_answer import ReplayAnswer

from .engines.perturbation_search import PerturbationSearch
from .engines.solver import ask_solver, unable
from .evidence import Engine, EngineReport, Evidence, decode_evidence
from .judging.violation import InputClass, Violation
from .objects.fuzzed_object import FuzzedObject
from .objects.trees import Tree
from .options import FuzzOptions, severity_of
from .pasteable import code_for
from .replaying import replay_trial
from .report import FuzzFinding, FuzzReport
from .rules import RULES, Kind, Rule, Severity
from .search_job import search
from .subject import Subject
from .trial import Trial, encode_trial

Listener = Callable[[EngineReport], None]
Progress = Callable[[Engine, str, float], None]
"""A function that takes the running engine, a text about its work, and the used fraction of the budget."""

_GRACE_SECONDS = 9.0
_LEAST_SECONDS = 1.0
_MOST_RESTARTS = 3
"""The number of restarts of a search after calls that did not return, but returned when they were repeated."""
_MORE_PATIENCE = 3.0
_FEWEST_OBJECTS = 30
"""The minimum number of objects for the verdict OK: if the time was up with fewer, the result is UNKNOWN."""
_SYMBOLIC, _PERTURBATIONS = 0.25, 0.2
_PERTURBATION_RULES = frozenset({Rule.HASH_SEED, Rule.CLOCK, Rule.ENVIRONMENT, Rule.HISTORY, Rule.REPEATABLE})
_PERTURBATIONS_ALONE = _PERTURBATION_RULES - {Rule.REPEATABLE}
_FOUND_ANYWAY = frozenset({Rule.TOTAL, Rule.RETURNS_LIST, Rule.RETURNS_STR, Rule.FAN_OUT})
_JOBS = f"{__package__}.search_job"


def fuzz(
    target: str | Subject,
    kind: Kind,
    options: FuzzOptions,
    listener: Listener = lambda _: None,
    progress: Progress = lambda *_: None,
) -> FuzzReport:
    """Run every engine within the budget.

    Args:
        target: the name of a function that child processes can load, or a function that only this process has. The
            latter runs in a thread, without the engines that need other processes.
        kind: index or key function.
        options: options of the run.
        listener: is called with the report of each engine, when the engine has finished.
        progress: is called during the run.

    Raises:
        TargetError: the function does not exist, or no objects can be created for it.
        HarnessError: kcache itself failed.
    """
    run = _Run(target if isinstance(target, str) else target.name, kind, options, listener, progress)
    if isinstance(target, str):
        try:
            run.in_children(target)
        except Interrupted:
            run.interrupted()
    else:
        run.in_thread(target)
    return run.report()


@dataclass
class _Run:
    name: str
    kind: Kind
    options: FuzzOptions
    listener: Listener
    progress: Progress
    began: float = field(default_factory=time.monotonic)
    evidence: dict[tuple[Rule, str], Evidence] = field(default_factory=dict)
    engines: list[EngineReport] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    tried: int = 0
    valid: int = 0
    accepted: int = 0
    is_cut_short: bool = False
    is_interrupted: bool = False
    at_work: EngineReport | None = None
    corpus: list[Tree] = field(default_factory=list)
    objects: str = ""
    are_guessed: bool = False
    notes: tuple[str, ...] = ()
    spec: str | None = None

    def in_children(self, spec: str) -> None:
        self.spec = spec
        end = self._child("search_job", self._remaining_seconds())
        if end.how in ("hang", "crash") and end.note == "" and not self.evidence:
            # The function hung or crashed on the probe, which is no real object: so this is no finding.
            self.options = replace(self.options, sources=replace(self.options.sources, asks=False))
            end = self._child("search_job", self._remaining_seconds())
        is_stopped = end.how in ("hang", "crash") and self._stopped(end)
        for _ in range(_MOST_RESTARTS):
            if is_stopped or end.how not in ("hang", "crash") or self._remaining_seconds() < _LEAST_SECONDS:
                break
            end = self._child("search_job", self._remaining_seconds())
            is_stopped = end.how in ("hang", "crash") and self._stopped(end)
        if not self._is_enough():
            self._perturbations()
        # Deeper search and the solver take longest and find least, so they come last.
        if not (is_stopped or self._is_enough() or self._remaining_seconds() < _LEAST_SECONDS):
            self._deeper()
        if not (is_stopped or self._is_enough()):
            self._symbolic()

    def interrupted(self) -> None:
        """Record that the user stopped the run, and report the work of the running engine."""
        self.is_interrupted = True
        self.reasons.append("it was interrupted")
        if self.at_work is not None:
            self._engine(replace(self.at_work, missed="it was interrupted"))

    def _remaining_seconds(self) -> float:
        return max(0.0, self.began + self.options.budget_seconds - time.monotonic())

    def _deeper(self) -> None:
        known = [one.symptom for one in self.evidence.values() if one.input_class is InputClass.VALID]
        share = 1.0 - _SYMBOLIC if self.options.is_symbolic else 1.0
        end = self._child("deep_job", share * self._remaining_seconds(), known=known)
        if end.how in ("hang", "crash"):
            self._stopped(end)

    def _is_enough(self) -> bool:
        return self.options.is_first_enough and any(
            evidence.input_class is InputClass.VALID and RULES[evidence.rule].severity is Severity.ERROR
            for evidence in self.evidence.values()
        )

    def in_thread(self, subject: Subject) -> None:
        ends: queue.Queue[JobEnd] = queue.Queue()
        journal = MemoryJournal()
        patience = self.options.patience_seconds
        watch = Watchdog(journal, patience, lambda text: ends.put(JobEnd("hang", text)))
        sink = _ThreadSink(self._event, watch)

        def work() -> None:
            try:
                search(subject, self.options, sink, self._remaining_seconds())
                ends.put(JobEnd("done"))
            except TargetError as error:
                ends.put(JobEnd("target_error", str(error)))
            except BaseException:
                ends.put(JobEnd("harness_error", traceback.format_exc()))

        threading.Thread(target=work, name="kcache fuzz", daemon=True).start()
        end = ends.get()
        watch.end()
        raise_if_failed(end)
        if end.how == "hang":
            self._stopped(replace(end, note=journal.text))
        why = "other processes cannot load the function; define it in a module"
        self._engine(EngineReport(Engine.CROSSHAIR, "did not run", why))
        self._engine(EngineReport(Engine.PERTURBATIONS, "did not run", why))

    def _child(self, job: str, seconds: float, **arguments: Any) -> JobEnd:
        grace_seconds = _GRACE_SECONDS + self.options.patience_seconds
        job_arguments = {**arguments, "seconds_left": seconds}
        end = self._job(job, job_arguments, self._event, seconds, grace_seconds=grace_seconds)
        raise_if_failed(end)
        return end

    def _job(
        self,
        job: str,
        arguments: dict[str, Any],
        on_event: Callable[[dict[str, Any]], None],
        seconds: float = 0.0,
        **grace: Any,
    ) -> JobEnd:
        return run_job(
            f"{_JOBS}:{job}",
            {"spec": self.spec, "kind": self.kind.value, "options": self.options.to_json(), **arguments},
            on_event=on_event,
            deadline_seconds=STARTUP_SECONDS + seconds,
            patience_seconds=self.options.patience_seconds,
            **grace,
        )

    def _event(self, event: dict[str, Any]) -> None:
        match event["event"]:
            case "progress":
                self._tell(Engine(event["engine"]), event["did"])
            case "evidence":
                self._add_evidence(decode_evidence(event["evidence"]))
            case "engine":
                fields = {name: value for name, value in event.items() if name != "event"}
                self._engine(EngineReport(**{**fields, "engine": Engine(event["engine"])}))
            case "tried":
                self.tried += event["objects"]
                self.is_cut_short = self.is_cut_short or event["cut"]
            case "judged":
                self.valid += event["valid"]
                self.accepted += event["accepted"]
            case "objects":
                self.objects, self.are_guessed = event["name"], event["are_guessed"]
                self.notes = tuple(event["notes"])
            case "kept":
                self.corpus = event["trees"]

    def _add_evidence(self, evidence: Evidence) -> None:
        """Keep the best evidence for each rule and raising line: prefer valid objects, and evidence with a replay."""
        rule, place, _ = evidence.symptom
        same = [key for key in self.evidence if key[0] is rule]
        if evidence.input_class is InputClass.VALID:
            for key in same:
                if self.evidence[key].input_class is not InputClass.VALID:
                    del self.evidence[key]
        elif any(self.evidence[key].input_class is InputClass.VALID for key in same):
            return
        known = self.evidence.get((rule, place))
        if known is None or _worth(evidence) > _worth(known):
            self.evidence[rule, place] = evidence

    @property
    def _rules_broken(self) -> set[Rule]:
        return {rule for rule, _ in self.evidence}

    def _tell(self, engine: Engine, did: str = "") -> None:
        self.at_work = EngineReport(engine, did)
        self.progress(engine, did, min(1.0, 1.0 - self._remaining_seconds() / self.options.budget_seconds))

    def _engine(self, report: EngineReport) -> None:
        self.at_work = None
        self.engines.append(report)
        self.listener(report)

    def _stopped(self, end: JobEnd) -> bool:
        """Handle a call that hung or ended the process: repeat it alone, with more patience; return whether to stop."""
        trees = [json.loads(end.note)] if end.note not in ("", "null") else []
        if not trees:
            self.reasons.append(
                f"the search ended early ({end.how}): {end.message.splitlines()[0] if end.message else ''}"
            )
            return True
        patience = self.options.patience_seconds
        violation = (
            Violation(Rule.TERMINATES, f"it did not return within {patience:g} s")
            if end.how == "hang"
            else Violation(Rule.TOTAL, f"it ended the process: {end.message.splitlines()[0]}")
        )
        details = {"how": end.how}
        if self.spec is not None:
            trial = Trial(self.spec, self.kind, violation.rule, Engine.HYPOTHESIS, (trees[0],), details)
            again = replay_trial(encode_trial(trial), patience_seconds=_MORE_PATIENCE * patience)
            if again.answer is not ReplayAnswer.REPRODUCED:
                return False
        input_classes: list[str] = [InputClass.VALID]
        if self.spec is not None:
            self._job("input_class_job", {"tree": trees[0]}, lambda event: input_classes.append(event["input_class"]))
        input_class = InputClass(input_classes[-1])
        self._add_evidence(
            Evidence(violation, input_class, Engine.HYPOTHESIS, (FuzzedObject(trees[0]),), details=details)
        )
        self._engine(
            EngineReport(Engine.HYPOTHESIS, f"ended by a {end.how}", "the other engines of this process did not run")
        )
        if input_class is not InputClass.VALID:
            self.reasons.append(f"a hostile object caused a {end.how}, so the other engines did not run")
        return True

    def _symbolic(self) -> None:
        if not self.options.is_symbolic or self.spec is None:
            return
        valid = {one.rule for one in self.evidence.values() if one.input_class is InputClass.VALID}
        why = unable(self.options)
        if not why and valid & _FOUND_ANYWAY:
            why = "not needed: another engine has found this kind of fault"
        elif not why and self._remaining_seconds() < _LEAST_SECONDS:
            why = "no time was left"
        if why:
            self._engine(EngineReport(Engine.CROSSHAIR, "did not run", why))
            return
        self._tell(Engine.CROSSHAIR)
        seconds = min(_SYMBOLIC * self.options.budget_seconds, self._remaining_seconds())
        hints, report = ask_solver(self.spec, self.kind, self.options, seconds)
        if hints:
            self._child("hints_job", self._remaining_seconds(), trees=hints)
        self._engine(report)

    def _perturbations(self) -> None:
        wanted = self.options.rules(self.kind) & _PERTURBATION_RULES
        if not wanted or self.spec is None or Rule.TERMINATES in self._rules_broken:
            return
        began = time.monotonic()
        perturbation_search = PerturbationSearch(
            self.spec,
            self.kind,
            self._valid,
            self.options.patience_seconds,
            until=self.began + self.options.budget_seconds,
            on_run=lambda number: self._tell(Engine.PERTURBATIONS, f"{number} processes"),
        )
        fuzzed_objects = [FuzzedObject(tree) for tree in self.corpus]
        evidences, missed = perturbation_search.run(fuzzed_objects, _PERTURBATIONS * self.options.budget_seconds)
        is_unstable = Rule.REPEATABLE in self._rules_broken
        for evidence in evidences:
            # If answers differ between calls in one process, they differ between processes as well.
            if evidence.rule in wanted and not is_unstable:
                self._add_evidence(evidence)
        did = f"{len(fuzzed_objects)} objects in {perturbation_search.runs} processes"
        cut = "the time was up before all were run" if perturbation_search.is_cut_short else ""
        self._engine(EngineReport(Engine.PERTURBATIONS, did, missed or cut, time.monotonic() - began))
        if missed:
            self.reasons.append(f"worlds: {missed}")

    def _valid(self, trees: list[Tree]) -> list[bool]:
        """Return whether each object is valid; a child decides it, because only children load the function's types."""
        verdicts: list[bool] = []
        self._job("validity_job", {"trees": trees}, lambda event: verdicts.extend(event["valid"]))
        return verdicts

    def report(self) -> FuzzReport:
        """Return the result of the run."""
        self._refused()
        findings = [self._finding(evidence) for evidence in self._with_places() if self._is_told(evidence)]
        order = list(RULES)
        findings.sort(key=lambda finding: (*_rank(finding), order.index(finding.rule)))
        fails = any(self.options.is_strict or finding.severity is Severity.ERROR for finding in findings)
        tried = next((report for report in self.engines if report.engine is Engine.HYPOTHESIS), None)
        if tried is not None and tried.missed and not (findings or self.reasons or self.is_interrupted):
            self.reasons.append(f"hypothesis: {tried.missed}")
        elif self.tried < _FEWEST_OBJECTS and self.is_cut_short and not self.reasons:
            self.reasons.append(f"only {self.tried} objects were tried; increase the budget")
        status = Status.VIOLATION if fails else Status.UNKNOWN if self.reasons else Status.OK
        rules = self.options.rules(self.kind) - (frozenset() if self.spec is not None else _PERTURBATIONS_ALONE)
        return FuzzReport(
            self.name,
            self.kind,
            status,
            tuple(findings),
            tuple(self.engines),
            tuple(rule for rule in order if rule in rules),
            self.objects,
            tuple(self.reasons) if status is Status.UNKNOWN else (),
            time.monotonic() - self.began,
            self.is_interrupted,
            self.are_guessed,
            self.notes,
        )

    def _is_told(self, evidence: Evidence) -> bool:
        """Whether to report evidence: for adversarial objects only if the run is strict, or the search ended there."""
        return self.options.is_strict or evidence.input_class is InputClass.VALID or "how" in evidence.details

    def _refused(self) -> None:
        """Add a reason if no object was valid, or the function raised for every valid object."""
        if self.accepted or not self.tried:
            return
        total = next((one for one in self.evidence.values() if one.rule is Rule.TOTAL), None)
        if not self.valid:
            self.reasons.append(f"none of the {self.tried:,} objects that were tried is legal")
        elif total is None or total.input_class is not InputClass.VALID:
            self.reasons.append(
                f"it raised for every legal object ({self.valid:,} were tried), so nothing else was tested"
            )
        elif self.valid > 1:
            what = f"{total.violation.what}; it raised for every legal object ({self.valid:,} were tried)"
            self.evidence[total.symptom[:2]] = replace(total, violation=replace(total.violation, what=what))

    def _with_places(self) -> list[Evidence]:
        """Return the evidence; if several lines raise, the text of each names its line."""
        counts = Counter(one.rule for one in self.evidence.values())
        return [
            replace(one, violation=replace(one.violation, what=f"{one.violation.what} (at {one.violation.place})"))
            if counts[one.rule] > 1 and one.violation.place
            else one
            for one in self.evidence.values()
        ]

    def _finding(self, evidence: Evidence) -> FuzzFinding:
        severity = severity_of(evidence.rule, is_valid=evidence.input_class is InputClass.VALID)
        if self.options.is_strict:
            severity = Severity.ERROR
        token = ""
        if self.spec is not None and all(fuzzed_object.is_plain for fuzzed_object in evidence.fuzzed_objects):
            try:
                token = encode_trial(Trial.of(self.spec, self.kind, evidence, self.options.most_values))
            except (FormatError, TypeError, ValueError):
                token = ""
        code = code_for(self.name, self.kind, evidence)
        return FuzzFinding(
            evidence.rule,
            severity,
            evidence.input_class,
            evidence.engine,
            evidence.violation.what,
            evidence.setting,
            code,
            token,
        )


@dataclass
class _ThreadSink:
    """A sink for a search in a thread of this process."""

    on_event: Callable[[dict[str, Any]], None]
    watch: ProgressListener

    def send(self, event: dict[str, Any]) -> None:
        self.on_event(event)


_WORTH = {Engine.EXPLORER: 1, Engine.THREADS: -1}


def _rank(finding: FuzzFinding) -> tuple[bool, bool]:
    """Return a sort key: errors, then warnings about repeated values, then other warnings."""
    is_warning = finding.severity is not Severity.ERROR
    return is_warning, is_warning and finding.rule is not Rule.DISTINCT


def _worth(evidence: Evidence) -> tuple[bool, int]:
    return evidence.input_class is InputClass.VALID, _WORTH.get(evidence.engine, 0)
