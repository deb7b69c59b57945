"""Exploration of object types: runs and judges the interleavings of programs on one target."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any, Final

from kcache_model.call_program import Cancelled, own_hash_seed
from kcache_model.errors import CannotExploreError, TargetError
from kcache_model.finding import Finding, FindingKind
from kcache_model.history import Call
from kcache_model.interleaved_program import LOOP_CONTRACTS, LoopContract, cancelled_text
from kcache_model.object_types.checking import CallsVerdict
from kcache_model.object_types.object_type import Driver, ObjectTarget, ObjectType
from kcache_model.object_types.smaller import smaller
from kcache_model.outcomes import CANCELLED, Outcome
from kcache_model.places import place_of as user_place
from kcache_model.progress import ProgressListener
from kcache_model.render import brief_text, operation_text
from kcache_model.verdict import Status

from ..engine.audit import AuditShare
from ..engine.counterexample import Counterexample
from ..engine.dpor import DivergedError, Dpor
from ..engine.equal_actors import EqualActors
from ..engine.execution import Execution, Problem
from ..engine.granularity import Granularity
from ..engine.search import SearchLimits, search
from ..engine.strategy import Ending, Strategy
from ..interleaved.confirming import confirm
from ..judgement.call_judge import CallJudge
from ..judgement.history import calls_of
from ..judgement.plain_data import plain
from ..loading import TARGET_PREFIX, named_packages
from ..modules.copies import Copies
from ..modules.package_dependencies import packages_of
from ..modules.private_packages import existing
from ..modules.roots import Roots
from ..modules.sandbox import Sandbox
from ..modules.sources import fingerprint_of
from ..runtime.tasks.cancellation import Cancellations
from ..runtime.threads.virtual_thread import SetupDeadlockError
from ..target.confirmation import Answer, Confirmation, why_not_repeated
from ..target.exploration_result import RunnerAndJudge
from ..target.scenario_runner import CallSequence, Load, Scenario, ScenarioRunner, Work
from ..trace.renderer import Texts, render_interleaving
from ..trace.setup_deadlock import waits_for_ever
from .direct_access import report_direct_access, report_foreign_method
from .findings import Setting, call_in, concurrent_finding
from .kept_locks import KeepingCalls
from .named_target import close_driver, new_object, of_explorer, place_of
from .open_blocks import abandon_blocks
from .real_run import reproduction_of

PHASE: Final = "explorer"
_ENDS: Final = 20
"""Executions in which a program has to end without a call, so that the call may be cancelled."""


class ObjectRunner(ScenarioRunner):
    """Runner of one program; each execution uses a new object.

    Attributes:
        made: the object of the last execution.
    """

    def __init__(
        self,
        object_type: ObjectType,
        target: ObjectTarget,
        program: Any,
        copies: Copies,
        pulse: Callable[[], None] = lambda: None,
        *,
        reads_back: bool = True,
        tolerated: frozenset[frozenset[Hashable]] = frozenset(),
    ) -> None:
        self._cancellations = Cancellations(getattr(program, "cancellations", 0), tolerated=tolerated)
        self.made: object = None
        self._object_type = object_type
        self._target = target
        self._program = program
        self._pulse = pulse
        self._prefix: tuple[Outcome, ...] = ()
        self._final: tuple[Outcome, ...] = ()
        self._driver: Driver
        self._place = place_of(object_type, target)
        reads = object_type.reads_for(target, program) if reads_back else ()
        self._reads = reads if isinstance(reads, Sequence) else None
        self._equal_threads = EqualActors(program.threads)
        self._calls_made: Hashable = program.names()
        super().__init__(Scenario(self._place.instrument, self._set_up, self._look_back), copies)

    @property
    def calls_made(self) -> Hashable:
        """The names of the calls."""
        return self._calls_made

    @property
    def equal_actors(self) -> EqualActors:
        """The threads with the same calls."""
        return self._equal_threads

    def run(self, strategy: Strategy) -> Execution[Any]:
        """Run the program once under ``strategy``."""
        self.sandbox.loops.cancellations = self._cancellations
        execution = super().run(strategy)
        if self._is_on_loop:
            self.sandbox.loops.note_threads(callers=len(self._program.threads))
            execution.proof_obstacles = self.sandbox.proof_obstacles
        execution.prefix, execution.final = self._prefix, self._final
        if execution.ending is Ending.COMPLETE:
            driver = self._driver
            execution.broken = lambda: list(self._object_type.broken_rules(driver, self._target))
        return execution

    def clean_up(self) -> None:
        """Unwind the last execution, and abandon the ``with`` blocks that it has left open."""
        abandon_blocks(getattr(self, "_driver", None), self.sandbox.scheduler)
        super().clean_up()

    def livelock(self, most_events: int) -> None:
        """Return ``None``: the search itself tests whether the threads end if all of them get turns."""

    def outcome(self, execution: Execution[Any]) -> object:
        """Return the outcomes of the threads, and the outcomes of reading the final state."""
        shown = super().outcome(execution)
        try:
            final = plain(execution.final)
        except TypeError:  # results are plain data, but may be nested deeply
            final = repr(execution.final)
        return self._equal_threads.in_order(shown) if isinstance(shown, tuple) else shown, final

    def read_back(self, final: tuple[Outcome, ...]) -> list[Any]:
        """Return the operations that read the final state, given their outcomes."""
        if self._reads is not None:
            return list(self._reads)
        answers = iter(final)
        found = self._object_type.reading_back(self._target, self._program, lambda _: next(answers))
        return [operation for operation, _ in found]

    def _set_up(self, load: Load) -> Sequence[Work]:
        self._pulse()
        factory = self._place.factory(load(self._place.module))
        try:
            driver = self._driver = self._object_type.make(
                self._target, self._program, load=load, factory=factory, passing=(SetupDeadlockError,)
            )
        except TargetError as error:
            raise CannotExploreError(str(error)) from error
        self.made = driver.made
        self._method_of = getattr(driver, "method_of", None)
        # Only the thread of its loop uses the object, and callbacks are not interleaved.
        self._is_on_loop = getattr(driver, "is_on_loop", False)
        self.sandbox.foreign_code.is_needed = not self._is_on_loop
        self._prefix = self._final = ()
        for operation in self._program.prefix:
            self._prefix = (*self._prefix, self._alone(operation))
        return [
            CallSequence([partial(self._call, driver, operation, number) for operation in own])
            for number, own in enumerate(self._program.threads)
        ]

    def _call(self, driver: Driver, operation: Any, thread: int) -> Outcome:
        """Make a call. If the call runs no Python code, its access is reported first."""
        if self._is_on_loop:
            return driver.call(operation, thread)
        if self._method_of is None:
            report_direct_access(driver.made, operation, self.sandbox)
        else:
            report_foreign_method(self._method_of(operation), self.sandbox)
        return driver.call(operation, thread)

    def _alone(self, operation: Any, results: Sequence[Any] = ()) -> Outcome:
        """Make a call outside of the threads, which have these results.

        Raises:
            SetupDeadlockError: the call waits for ever; the message says for what, and which call has failed before it.
        """
        try:
            return self._driver.call(operation)
        except SetupDeadlockError as error:
            calls = itertools.chain(self._program.prefix, *self._program.threads)
            made = zip(calls, itertools.chain(self._prefix, *filter(None, results)), strict=False)
            failed = [brief_text(call) for call, outcome in made if outcome.error is not None]
            why = waits_for_ever(error, self.made, self._object_type.called, next(reversed(failed), ""))
            place = user_place(error)
            raise SetupDeadlockError(f"{brief_text(operation)}{f', at {place},' if place else ''} {why}") from error

    def _look_back(self, results: list[Any]) -> None:
        answer = partial(self._alone, results=results)
        with self.sandbox.unheard():
            if self._reads is not None:
                self._final = tuple(map(answer, self._reads))
            else:
                found = self._object_type.reading_back(self._target, self._program, answer)
                self._final = tuple(outcome for _, outcome in found)


class ObjectExplorationTarget:
    """One target of an object type, ready to be explored; see :mod:`~kcache_stress.target.exploration_target`.

    Args:
        object_type: of the target.
        target: the implementation; a private copy is loaded by its name.
        instrument: further packages to instrument.
        granularity: where threads may be switched.

    Attributes:
        granularity: where threads may be switched.
        share: the share of audits in the work on this target.
        target: the implementation.

    Raises:
        TargetError: a package to instrument does not exist.
    """

    def __init__(
        self,
        object_type: ObjectType,
        target: ObjectTarget,
        instrument: tuple[str, ...] = (),
        granularity: Granularity = Granularity.FREE,
    ) -> None:
        place = place_of(object_type, target)
        existing(named_packages(target.factory, target.name))
        self._roots = Roots(frozenset((*place.instrument, *existing(instrument))), place.folder)
        self.granularity = granularity
        # Callbacks of a loop are never interrupted, so an audit at opcodes would show nothing.
        self.share = AuditShare(0) if object_type.is_on_loop else AuditShare()
        self._object_type, self._type_on_real_threads = of_explorer(object_type), object_type
        self.target = target
        self._instrument = instrument
        self._built_on = _made_of(object_type, target, self._roots)
        self._copies = self._new_copies()
        self._others: dict[Granularity, ObjectExplorationTarget] = {}
        self._wider: dict[frozenset[str], ObjectExplorationTarget] = {}
        self._is_loaded = False
        self._keeping = KeepingCalls(object_type, target)
        self._ends: dict[Any, bool] = {}

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox with the private copy of the code of the target."""
        return self._copies.sandbox

    def at(self, granularity: Granularity) -> ObjectExplorationTarget:
        """Return the same target with another granularity; created once for each granularity."""
        if granularity is self.granularity:
            return self
        if granularity not in self._others:
            other = ObjectExplorationTarget(self._object_type, self.target, self._instrument, granularity)
            other.share = self.share
            if not self._built_on:  # with these packages, the modules could not be loaded
                other._built_on = self._built_on
                other._copies = other._new_copies()
            self._others[granularity] = other
        return self._others[granularity]

    def wider(self, modules: frozenset[str]) -> ObjectExplorationTarget:
        """Return the same target with these modules instrumented, too; itself if there are none."""
        if not modules:
            return self
        if modules not in self._wider:
            further = (*self._instrument, *sorted(modules))
            wider = ObjectExplorationTarget(self._object_type, self.target, further, self.granularity)
            wider.share = self.share
            self._wider[modules] = wider
        return self._wider[modules]

    def contract(self, program: Any) -> str:
        """Return the order of callbacks in the event loop; empty if the methods are not async."""
        del program
        return LOOP_CONTRACTS[LoopContract.ASYNCIO] if self._object_type.is_on_loop else ""

    def assumes(self, program: Any) -> str:
        """Return what proofs about the program take for granted: the contract, and the number of cancellations."""
        if not self._object_type.is_on_loop:
            return ""
        number, cancelled = getattr(program, "cancellations", 0), getattr(program, "cancelled", Cancelled.USUAL)
        return f"{self.contract(program)}, and {cancelled_text(number, 'call', cancelled)}"

    def excuses_own_threads(self, program: Any) -> bool:
        """Return whether the class starts threads; see :class:`~kcache_stress.target.exploration_target`."""
        return bool(getattr(self._object_type.specification(program), "starts_threads", False))

    def announce(self, program: Any, watch: ProgressListener) -> None:
        """Notify ``watch`` that a program is about to run."""
        if not self._is_loaded:  # without a watch: loading may be slow, and the target has been loaded once
            watch.rest()
            with contextlib.suppress(Exception):  # the exploration of a program reports the error
                self.load()
        watch.note(self._object_type.noted(program))

    def runner(self, program: Any, pulse: Callable[[], None] = lambda: None) -> ObjectRunner:
        """Create the runner of a program; ``pulse`` is called before each execution.

        Raises:
            CannotExploreError: the target cannot be scheduled.
        """
        tolerated = (
            self._tolerated(program) if getattr(program, "cancellations", 0) else frozenset[frozenset[Hashable]]()
        )
        return ObjectRunner(self._object_type, self.target, program, self._copies, pulse, tolerated=tolerated)

    def _tolerated(self, program: Any) -> frozenset[frozenset[Hashable]]:
        """Return the sets of calls, by thread and number, without which the program ends: these may be cancelled.

        Without a call, its thread does not make the following calls either.
        """
        calls = [(number, at) for number, own in enumerate(program.threads) for at in range(len(own))]
        sets = (some for size in range(program.cancellations + 1) for some in itertools.combinations(calls, size))
        return frozenset(frozenset[Hashable](some) for some in sets if self._ends_without(program, some))

    def _ends_without(self, program: Any, cancelled: Sequence[tuple[int, int]]) -> bool:
        first = dict(reversed(cancelled))
        threads = tuple(own[: first.get(number, len(own))] for number, own in enumerate(program.threads))
        rest = replace(program.with_calls(program.prefix, threads), cancellations=0)
        if rest not in self._ends:
            runner = ObjectRunner(self._object_type, self.target, rest, self._copies)
            executions: list[Ending] = []
            limits = SearchLimits(_ENDS)
            for _ in range(2):  # the first executions may fill caches that the others use
                with contextlib.suppress(DivergedError):
                    search(runner, Dpor(), None, limits, on_execution=lambda run: executions.append(run.ending))
                    break
            runner.clean_up()
            self._ends[rest] = Ending.DEADLOCK not in executions and Ending.ENDLESS not in executions
        return self._ends[rest]

    def judge(self, program: Any, runner: ObjectRunner, *, strict_errors: bool = False) -> CallJudge:
        """Create the judge of the executions of a runner of the same program."""
        return CallJudge(
            self._object_type.specification(program),
            program,
            runner.read_back,
            strict_errors=strict_errors or self._object_type.exact_errors,
            text=self._object_type.call_text,
            keeps_lock=partial(self._keeping, program),
            decide=partial(self._object_type.judged, program, strict_errors=strict_errors),
        )

    @contextlib.contextmanager
    def open_runner(
        self, program: Any, *, strict_errors: bool = False, pulse: Callable[[], None] = lambda: None
    ) -> Iterator[RunnerAndJudge[Any]]:
        """Open the runner and the judge of a program; ``pulse`` is called before each execution."""
        program = self._object_type.for_target(program, self.target)
        runner = self.runner(program, pulse)
        try:
            judge = self.judge(program, runner, strict_errors=strict_errors)
            judge.pulse = pulse
            yield RunnerAndJudge(runner, judge)
        finally:
            runner.clean_up()

    def smaller(self, program: Any, fails: Callable[[Any], bool], *, seconds: float, attempts: int) -> Any:
        """Return a program that still fails and is no larger; see :mod:`kcache_model.object_types.smaller`."""
        return smaller(self._object_type, program, fails, seconds=seconds, attempts=attempts)

    def finding(
        self,
        program: Any,
        problem: Problem,
        counterexample: Counterexample[Any] | None = None,
        *,
        strict_errors: bool = False,
        detail: str = "",
    ) -> Finding:
        """Create the finding of a problem; if there is a counterexample, with its interleaving, calls and schedule."""
        setting = Setting(self._object_type, self.target.name, strict_errors, self._instrument)
        program = self._object_type.for_target(program, self.target).with_hash_seed(own_hash_seed())
        if counterexample is None:
            finding = concurrent_finding(setting, PHASE, problem.kind, problem.summary, program, rule=problem.rule)
            return replace(finding, unconfirmed=why_not_repeated(problem.kind) or self._doubt(program, problem))
        runner = self.runner(program)
        told = render_interleaving(runner, counterexample.schedule, self.texts(program, runner), problem)
        calls = calls_of(program, counterexample.execution, runner.read_back(counterexample.execution.final))
        is_about_calls = problem.kind in (FindingKind.NONLINEARIZABLE, FindingKind.EXCEPTION)
        verdict = self._checked(program, calls, strict_errors) if is_about_calls else None
        if verdict is not None and verdict.wrong is not None and told.wrong_call is not None:
            # Several calls may be wrong. A verdict about another call is used only if it fails in the reported way.
            is_other = call_in(told, calls, verdict.wrong) != told.wrong_call
            if is_other and verdict.is_error != (problem.kind is FindingKind.EXCEPTION):
                verdict = None
        if verdict is not None and verdict.shown:
            calls = verdict.shown
        token = replace(
            setting.token(program, problem.kind),
            schedule=counterexample.schedule,
            fingerprint=fingerprint_of(runner.sandbox.sources),
            granularity=self.granularity,
        )
        finding = concurrent_finding(
            setting,
            PHASE,
            problem.kind,
            (verdict.reason if verdict is not None else "") or told.summary or problem.summary,
            program,
            calls,
            verdict,
            token=token,
            interleaving=told,
            detail=detail,
            rule=problem.rule,
        )
        return replace(finding, unconfirmed=finding.unconfirmed or self._doubt(program, problem))

    def confirmation(
        self,
        program: Any,
        finding: Finding,
        counterexample: Counterexample[Any],
        watch: ProgressListener,
        *,
        is_seen: bool,
        strict_errors: bool,
        until: float = inf,
    ) -> Confirmation:
        """Try to confirm a finding: run its program with real threads."""
        if is_seen and not self._object_type.confirms_seen:
            return Confirmation(Answer.NOT_TRIED)
        if CANCELLED in itertools.chain.from_iterable(counterexample.execution.outcomes):
            return Confirmation(Answer.NOT_TRIED, "not tried with real threads: there, no call is cancelled")
        assert finding.interleaving is not None
        setting = Setting(self._type_on_real_threads, self.target.name, strict_errors)
        reproduction = reproduction_of(setting, self.target, program, finding.kind, counterexample.execution.seconds)
        return confirm(reproduction, finding.interleaving, finding.kind, watch.alive, until)

    def _doubt(self, program: Any, problem: Problem) -> str:
        """Return why only real threads can confirm a problem: a call has other results on them; empty if none has."""
        if problem.kind is FindingKind.DATA_RACE:
            return ""  # its accesses are the evidence, not what the calls return
        differing: frozenset[str] = getattr(self._object_type.specification(program), "differing", frozenset())
        named = next((call.name for call in program.operations() if getattr(call, "name", "") in differing), "")
        return f"{named} has other results on real threads than on virtual ones" if named else ""

    def _checked(self, program: Any, calls: Sequence[Call[Any]], strict_errors: bool) -> CallsVerdict | None:
        verdict = self._object_type.judged(program, calls, strict_errors=strict_errors)
        return verdict if verdict.status is Status.VIOLATION else None

    def texts(self, program: Any, runner: ObjectRunner) -> Texts[Any]:
        """Return the texts with which an interleaving of a program is rendered."""
        outcome_text = self._object_type.outcome_text

        def with_outcomes(operations: Sequence[Any], outcomes: Sequence[Outcome]) -> list[tuple[str, str]]:
            return list(zip(map(operation_text, operations), map(outcome_text, outcomes), strict=False))

        return Texts(
            called=self._object_type.called,
            root=lambda: runner.made,
            threads=[list(map(operation_text, thread)) for thread in program.threads],
            outcome=outcome_text,
            before=lambda execution: with_outcomes(program.prefix, execution.prefix),
            afterwards=lambda execution: with_outcomes(runner.read_back(execution.final), execution.final),
        )

    def load(self) -> None:
        """Load the copies of the modules, by creating one object.

        The packages that the object is built on are copied as well. If loading then fails because of an exception, the
        modules are loaded without these packages.

        Raises:
            CannotExploreError: the target cannot be scheduled.
        """
        self._is_loaded = True
        try:
            self._create_one()
        except CannotExploreError as error:
            if not self._built_on or not isinstance(error.__cause__, Exception):
                raise
            self._built_on = frozenset()
            self._copies = self._new_copies()
            self._create_one()

    def _create_one(self) -> None:
        first = self._object_type.usual_ways(self.target)[0].with_calls((), ())
        ObjectRunner(self._object_type, self.target, first, self._copies, reads_back=False).clean_up()

    def _new_copies(self) -> Copies:
        packages = self._roots.packages | self._built_on
        return Copies(tuple(sorted(packages)), self.granularity, self._roots.folder)


def _made_of(object_type: ObjectType, target: ObjectTarget, roots: Roots) -> frozenset[str]:
    """The packages of the object that the real target creates; they decide which packages are copied."""
    driver = new_object(object_type, target, object_type.usual_ways(target)[0])
    found = packages_of(driver.made, lambda name: name.startswith(TARGET_PREFIX) or roots.contain(name))
    close_driver(driver)
    return found
