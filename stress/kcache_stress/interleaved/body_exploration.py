"""Exploration target for interleaved tests: runs the interleavings of a test and builds its findings."""

from __future__ import annotations

import contextlib
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import Any, Final

from kcache_model.call_program import own_hash_seed
from kcache_model.errors import CannotExploreError, TargetError
from kcache_model.finding import Finding, FindingKind
from kcache_model.interleaved_program import (
    LOOP_CONTRACTS,
    InterleavedProgram,
    LoopContract,
    Timeouts,
    cancelled_text,
    decode_program,
    encode_program,
)
from kcache_model.interleaving import Interleaving
from kcache_model.progress import ProgressListener

from ..engine.audit import AuditShare
from ..engine.counterexample import SHOWN_ONCE, Counterexample
from ..engine.execution import Problem
from ..engine.granularity import Granularity
from ..engine.preemption_bounded import PreemptionBounded
from ..engine.schedule_replay import Replay
from ..engine.search import SearchLimits, search
from ..modules.copies import Copies
from ..modules.private_packages import existing, parts_in_c
from ..modules.sandbox import Sandbox
from ..modules.sources import fingerprint_of
from ..runtime.threads.virtual_thread import UncontrolledError
from ..strategies.partial_order_sampling import PartialOrderSampling
from ..target.confirmation import Answer, Confirmation, why_not_repeated
from ..target.exploration_result import RunnerAndJudge
from ..target.replay_token import ReplayToken, TokenFormat
from ..target.scenario_runner import SCENARIO_JUDGE
from ..trace.renderer import Texts, end_of, render_interleaving
from .confirming import Reproduction, confirm, run_freely
from .confirming_on_loops import Orders, confirm_on_loops, orders_of
from .named_test import InterleavedTest, load_test
from .paused_run import PausedRun
from .runner import MOST_TEST_EVENTS, InterleavedRunner, Shape, compared
from .standalone import standalone_test

TOKENS: Final = TokenFormat[InterleavedProgram]("kt1.", encode_program, decode_program)
"""Format of the replay tokens of tests."""

FAILS_ALWAYS: Final = "It also fails without concurrency, and in every order that was tried."
FAILS_ON_LOOP: Final = "It fails under every schedule of its event loop that was tried."
_FAILS_ALONE: Final = "It also fails without concurrency: if the threads run one after another."

_SMALLER: Final = "Shown with smaller numbers: numbers in the test that are multiples of {0:,} are divided by {0:,}."

_LONG_EVENTS: Final = 500
"""Number of events above which a test is tried with smaller counts."""

TOO_LONG: Final = f"too long: its threads do not end within {MOST_TEST_EVENTS:,} steps"
"""Message about a test that ends with real threads, but is too long for the explorer."""

_SAMPLES: Final = 8
_FEW_SAMPLES: Final = 3
"""Number of samples for tests with long executions; :data:`_SAMPLES` is for other tests."""

_MOST_CONFIRMED: Final = 50_000
"""Maximum length, in events, of an interleaving that is confirmed with paused real threads."""

_OF_LOOPS: Final = re.compile(rb"asyncio|anyio|uvloop")
"""Names of libraries that run event loops, in a source."""


class BodyExplorationTarget:
    """A test, ready to be explored; a :class:`~kcache_stress.target.exploration_target.ExplorationTarget`.

    Args:
        spec: name of the test: ``package.module:function`` or ``path/to/file.py:Class.method``.
        instrument: further packages to instrument.
        granularity: the points at which threads may be switched.

    Attributes:
        target: the test.
        granularity: the points at which threads may be switched.

    Raises:
        TargetError: there is no such test, or no such package.
        CannotExploreError: the modules of the test cannot be scheduled.
    """

    def __init__(
        self, spec: str, instrument: tuple[str, ...] = (), granularity: Granularity = Granularity.FREE
    ) -> None:
        self.target: InterleavedTest = load_test(spec)
        self.granularity = granularity
        self._share = AuditShare(is_single=True)
        self._instrument = instrument
        self._packages = self.target.packages(existing(instrument))
        self._copies = self._loaded(self._packages, granularity)
        self._shapes = {1: Shape()}
        self._pulse: Callable[[], None] = lambda: None
        self._freely = ""  # result of real threads that are not paused, as a clause
        self._whole: Interleaving | None = None  # interleaving of the last finding, from its beginning
        self._orders: Orders | None = None  # what arrived in it at its event loops
        self._others: dict[Granularity, BodyExplorationTarget] = {granularity: self}
        self._wider: dict[frozenset[str], BodyExplorationTarget] = {}

    def _loaded(self, packages: tuple[str, ...], granularity: Granularity) -> Copies:
        """Load copies of the test's module and of packages; if loading fails, without packages that have parts in C."""
        mixed = {unit for unit in self.target.imported if parts_in_c(unit)}
        copies = Copies(packages, granularity, self.target.folder, (self.target.module,))
        try:
            copies.sandbox.load(self.target.module)
        except CannotExploreError:
            others = tuple(unit for unit in packages if unit not in mixed)
            if others == packages:
                raise
            return self._loaded(others, granularity)
        return copies

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox with the private copies of the code of the test."""
        return self._copies.sandbox

    @property
    def share(self) -> AuditShare:
        """Budget of audits for the searches of the test."""
        has_run = any(shape.events for shape in self._shapes.values())
        if not has_run and (self._is_on_loop or self._may_run_a_loop):
            items = self.target.items
            program = InterleavedProgram(parameters={} if items is None else items.first_parameters)
            with (
                contextlib.suppress(UncontrolledError, CannotExploreError, TargetError),
                self.open_runner(program),
            ):
                pass  # its first execution shows whether it runs a loop, and threads beside it
            self._copies = self._loaded(self._packages, self.granularity)  # without what that execution has left
        # Callbacks of a loop are never interrupted, so an audit at opcodes would show nothing.
        if self._is_on_loop:
            return AuditShare(thorough=0)
        # Beside a loop, not all places of a thread can be left: the thread of the loop waits for it there.
        return AuditShare() if self.target.is_async else self._share

    @share.setter
    def share(self, share: AuditShare) -> None:
        self._share = share

    @property
    def _may_run_a_loop(self) -> bool:
        """Whether the test, or a package of it, names a library that runs event loops."""
        return "asyncio" in sys.modules and any(map(_OF_LOOPS.search, self.sandbox.sources.values()))

    def contract(self, program: InterleavedProgram) -> str:
        """Return the order of callbacks in the event loop; empty if the test has none."""
        return LOOP_CONTRACTS[self._test(program).loop] if self._is_on_loop else ""

    def assumes(self, program: InterleavedProgram) -> str:
        """Return what proofs about the program take for granted: the contract, and the number of cancellations."""
        test = self._test(program)
        assumed = f"{LOOP_CONTRACTS[test.loop]}, and {cancelled_text(test.cancellations, 'task', test.cancelled)}"
        return assumed if self._has_loop else ""

    def excuses_own_threads(self, program: InterleavedProgram) -> bool:
        """Return no: the test itself says what is wrong."""
        del program
        return False

    @property
    def _is_on_loop(self) -> bool:
        """Answer whether the test runs in an event loop."""
        shapes = self._shapes.values()
        has_threads = any(shape.has_threads for shape in shapes)
        return (self.target.is_async and not has_threads) or any(shape.is_on_loop for shape in shapes)

    @property
    def _has_loop(self) -> bool:
        """Answer whether the test runs an event loop, perhaps with threads beside it."""
        return self._is_on_loop or any(shape.has_threads for shape in self._shapes.values())

    def at(self, granularity: Granularity) -> BodyExplorationTarget:
        """Return the target for the same test with another granularity; each target is built once."""
        if granularity not in self._others:
            other = BodyExplorationTarget(self.target.name, self._instrument, granularity)
            other._others, other._share, other._shapes = self._others, self._share, self._shapes
            self._others[granularity] = other
        return self._others[granularity]

    def wider(self, modules: frozenset[str]) -> BodyExplorationTarget:
        """Return the same test with these modules instrumented, too; itself if there are none."""
        if not modules:
            return self
        if modules not in self._wider:
            further = (*self._instrument, *sorted(modules))
            self._wider[modules] = BodyExplorationTarget(self.target.name, further, self.granularity)
            self._wider[modules]._share = self._share
        return self._wider[modules]

    def announce(self, program: InterleavedProgram, watch: ProgressListener) -> None:
        """Report to ``watch`` that the test is about to run."""
        del program
        watch.note(self.target.name)

    @contextlib.contextmanager
    def open_runner(
        self, program: InterleavedProgram, *, strict_errors: bool = False, pulse: Callable[[], None] = lambda: None
    ) -> Iterator[RunnerAndJudge[object]]:
        """Context with the runner and the judge of the test; ``pulse`` is called before each execution."""
        del strict_errors
        self._pulse = pulse
        runner = InterleavedRunner(self._test(program), self._copies, self._shape(program), pulse)
        try:
            yield RunnerAndJudge(runner, SCENARIO_JUDGE)
        finally:
            runner.clean_up()
            self.target.clean_up()

    def smaller(
        self, program: InterleavedProgram, fails: Callable[[InterleavedProgram], bool], *, seconds: float, attempts: int
    ) -> InterleavedProgram:
        """Return the same test with more that it can rely on, or with divided counts, if it then fails in ``fails``.

        What it can rely on is a stricter order of the callbacks of an event loop, and fewer cancellations: what fails
        then does not need the rest. Counts are divided if the test is long, and passes without preemptions.
        """
        if self._is_on_loop:
            return next(filter(fails, self._stricter(program)), program)
        if self._shape(program).events <= _LONG_EVENTS:
            return program
        deadline = time.monotonic() + seconds
        for divisor in self.target.divisors[:attempts]:
            if time.monotonic() > deadline:
                break
            smaller = replace(program, divisor=divisor)
            if self._passes_alone(smaller) and fails(smaller):
                return smaller
        return program

    def _stricter(self, program: InterleavedProgram) -> Iterator[InterleavedProgram]:
        """Yield the program with stricter contracts about its event loop, the strictest first."""
        test, contracts = self._test(program), list(LoopContract)
        for loop in contracts[: contracts.index(test.loop) + 1]:
            for cancellations in range(test.cancellations + 1):
                if (loop, cancellations) != (test.loop, test.cancellations):
                    yield replace(program, loop=loop, cancellations=cancellations)

    def _passes_alone(self, program: InterleavedProgram) -> bool:
        with self.open_runner(program, pulse=self._pulse) as (runner, _), contextlib.suppress(UncontrolledError):
            return search(runner, PreemptionBounded(0), SCENARIO_JUDGE, SearchLimits(1)).problem is None
        return False

    def _shape(self, program: InterleavedProgram) -> Shape:
        return self._shapes.setdefault(program.divisor, Shape())

    def finding(
        self,
        program: InterleavedProgram,
        problem: Problem,
        counterexample: Counterexample[object] | None = None,
        *,
        strict_errors: bool = False,
        detail: str = "",
    ) -> Finding:
        """Build the finding of a problem; with a counterexample, the finding contains its interleaving and schedule."""
        del strict_errors
        own = program.with_hash_seed(own_hash_seed())
        token = ReplayToken(self.target.name, own, problem.kind, instrument=self._instrument)
        interleaving = None
        if counterexample is None and SHOWN_ONCE in problem.summary:
            if not self._freely:
                self._freely = run_freely(self._reproduction(program), self._pulse)
            detail = f"{self._freely}.\n{detail}"
        if counterexample is not None:
            runner = InterleavedRunner(self._test(program), self._copies, self._shape(program), self._pulse)
            runner.shows_variables = True
            texts = Texts(
                called="",
                root=lambda: runner.made,
                threads=[[text] for text in runner.texts],
                outcome=str,
                before=_nothing,
                afterwards=_nothing,
                test=self.target.lines,
                alive=self._pulse,
            )
            if program.divisor > 1:
                detail = f"{_SMALLER.format(program.divisor)}\n{detail}"
            # A data race does not depend on the order of its accesses: preemptions say nothing about it.
            if problem.kind is not FindingKind.DATA_RACE and not counterexample.preemptions:
                detail = f"{self._without_preemptions(runner, problem)}{detail}"
            self._whole = render_interleaving(
                runner, counterexample.schedule, texts, problem, most_events=_MOST_CONFIRMED
            )
            interleaving = end_of(self._whole)
            self._orders = orders_of(runner.arrivals)
            self.target.clean_up()
            token = replace(
                token,
                schedule=counterexample.schedule,
                granularity=self.granularity,
                fingerprint=fingerprint_of(runner.sandbox.sources),
            )
        return Finding(
            problem.kind,
            "explorer",
            (interleaving.summary if interleaving is not None else "") or problem.summary,
            detail=detail,
            schedule=TOKENS.encode(token),
            interleaving=interleaving,
            script=self.target.source,
            standalone=self._standalone(program, problem) if interleaving is not None else "",
            rule=problem.rule,
            unconfirmed="" if counterexample is not None else why_not_repeated(problem.kind),
        )

    def _standalone(self, program: InterleavedProgram, problem: Problem) -> str:
        """Return a test that may show the last finding without kcache; empty if there is none."""
        return standalone_test(self._test(program), self._orders, problem.summary) if self._is_on_loop else ""

    def confirmation(
        self,
        program: InterleavedProgram,
        finding: Finding,
        counterexample: Counterexample[object],
        watch: ProgressListener,
        *,
        is_seen: bool,
        strict_errors: bool,
        until: float = inf,
    ) -> Confirmation:
        """Run the test with real threads, or in a loop of asyncio, and return whether it fails in the same way."""
        del is_seen, strict_errors
        if self._is_on_loop and self._test(program).loop is LoopContract.ASYNCIO:
            return confirm_on_loops(self._test(program).called, self._orders, finding.kind, finding.summary)
        if self._has_loop:
            why = "not tried with real threads: they cannot be paused beside an event loop"
            return Confirmation(Answer.NOT_TRIED, why)
        if counterexample.execution.hurry:
            return Confirmation(Answer.NOT_TRIED)  # it depends on the clock, and pauses of real threads take time
        if self._test(program).timeouts is Timeouts.ANY_TIME and any(
            one.is_early for one in counterexample.execution.timeouts
        ):
            return Confirmation(Answer.NOT_TRIED)  # real threads would have to be as slow as the contract allows
        assert self._whole is not None
        reproduction = replace(self._reproduction(program), seconds=counterexample.execution.seconds)
        return confirm(reproduction, self._whole, finding.kind, watch.alive, until)

    def _reproduction(self, program: InterleavedProgram) -> Reproduction:
        test, shape = self._test(program), self._shape(program)
        threads = 0 if shape.is_whole else shape.threads

        def is_unknown(run: PausedRun) -> bool:
            return bool(shape.orders) and compared(run.ends, run.state) not in (shape.orders or {})

        return Reproduction(test.called, threads, is_unknown, "the test fails", unusual=test.unusual)

    def _test(self, program: InterleavedProgram) -> InterleavedTest:
        test = self.target.with_parameters(program.parameters)
        return replace(
            test,
            usual=frozenset(program.usual),
            divisor=program.divisor,
            timeouts=program.timeouts or test.timeouts,
            cancellations=test.cancellations if program.cancellations is None else program.cancellations,
            cancelled=program.cancelled or test.cancelled,
            loop=program.loop or test.loop,
        )

    def _without_preemptions(self, runner: InterleavedRunner, problem: Problem) -> str:
        """Return a line about a failure without preemptions: whether all samples fail; empty for other deadlocks."""
        random = map(PartialOrderSampling, range(_FEW_SAMPLES if runner.is_long else _SAMPLES))
        samples = (Replay((), steps=1), *random)  # first, nothing is late
        if all(search(runner, sample, SCENARIO_JUDGE, SearchLimits(1)).problem is not None for sample in samples):
            return f"{FAILS_ON_LOOP if self._is_on_loop else FAILS_ALWAYS}\n"
        return "" if self._is_on_loop or problem.kind is FindingKind.DEADLOCK else f"{_FAILS_ALONE}\n"


def _nothing(_: Any) -> Sequence[tuple[str, str]]:
    return ()
