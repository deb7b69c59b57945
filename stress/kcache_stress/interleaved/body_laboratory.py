"""The laboratory of interleaved tests: where their interleavings are run and judged."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from kcache_model.call_program import own_hash_seed
from kcache_model.finding import Finding, FindingKind
from kcache_model.interleaved_program import InterleavedProgram, decode_program, encode_program
from kcache_model.progress import ProgressListener

from ..explorer.audit import AuditShare
from ..explorer.confirmation import Confirmation
from ..explorer.counterexample import Counterexample
from ..explorer.execution import Problem
from ..explorer.granularity import Granularity
from ..explorer.investigation import Experiment
from ..explorer.reach import existing
from ..explorer.rendering.renderer import Texts, render_interleaving
from ..explorer.replay_token import ReplayToken, TokenFormat
from ..explorer.sandbox import Sandbox
from ..explorer.scenario_runner import AS_FOUND, Copies
from ..explorer.search import SearchLimits, search
from ..explorer.sources import fingerprint_of
from ..explorer.strategies.partial_order_sampling import PartialOrderSampling
from .arguments import remove_folder
from .confirming import Trial, confirm
from .named_test import InterleavedTest, load_test
from .paused_run import PausedRun
from .runner import InterleavedRunner, Shape, compared

TOKENS: Final = TokenFormat[InterleavedProgram]("kt1.", encode_program, decode_program)
"""How the replay tokens of tests are written."""

FAILS_ALWAYS: Final = "It fails without concurrency, too, and in every order that was tried."
_FAILS_ALONE: Final = "It fails without concurrency, too: with the threads one after another."

_SAMPLES: Final = 8


class InterleavedLaboratory:
    """A test, ready to be explored; a :class:`~kcache_stress.explorer.laboratory.Laboratory`.

    Args:
        spec: ``package.module:function`` or ``path/to/file.py:Class.method``.
        instrument: further packages to instrument.
        granularity: where threads may be switched.

    Attributes:
        target: the test.
        granularity: where threads may be switched.
        share: how much of what is done with it are audits.

    Raises:
        TargetError: there is no such test, or no such package.
        CannotExploreError: its modules cannot be scheduled.
    """

    def __init__(
        self, spec: str, instrument: tuple[str, ...] = (), granularity: Granularity = Granularity.FREE
    ) -> None:
        self.target: InterleavedTest = load_test(spec)
        self.granularity = granularity
        self.share = AuditShare()
        self._instrument = instrument
        packages = self.target.packages(existing(instrument))
        self._copies = Copies(packages, granularity, self.target.folder, (self.target.module,))
        self._shape = Shape()
        self._others: dict[Granularity, InterleavedLaboratory] = {granularity: self}
        self._copies.sandbox.load(self.target.module)

    @property
    def sandbox(self) -> Sandbox:
        """Where the code of the test lives."""
        return self._copies.sandbox

    def at(self, granularity: Granularity) -> InterleavedLaboratory:
        """The same test, with its threads switched elsewhere; made once."""
        if granularity not in self._others:
            made = InterleavedLaboratory(self.target.name, self._instrument, granularity)
            made._others, made.share, made._shape = self._others, self.share, self._shape
            self._others[granularity] = made
        return self._others[granularity]

    def announce(self, program: InterleavedProgram, watch: ProgressListener) -> None:
        """Tell ``watch`` that the test is about to run."""
        del program
        watch.note(self.target.name)

    @contextlib.contextmanager
    def opened(
        self, program: InterleavedProgram, *, strict_errors: bool = False, pulse: Callable[[], None] = lambda: None
    ) -> Iterator[Experiment[object]]:
        """The experiment of the test; ``pulse`` is called before each execution."""
        del strict_errors
        runner = InterleavedRunner(self._test(program), self._copies, self._shape, pulse)
        try:
            yield Experiment(runner, AS_FOUND)
        finally:
            runner.clean_up()
            remove_folder()

    def smaller(
        self, program: InterleavedProgram, fails: Callable[[InterleavedProgram], bool], *, seconds: float, attempts: int
    ) -> InterleavedProgram:
        """The same: somebody wrote it as it is."""
        del fails, seconds, attempts
        return program

    def finding(
        self,
        program: InterleavedProgram,
        problem: Problem,
        found: Counterexample[object] | None = None,
        *,
        strict_errors: bool = False,
        detail: str = "",
    ) -> Finding:
        """The finding of a problem, with what the counterexample does where there is one."""
        del strict_errors
        own = program.with_hash_seed(own_hash_seed())
        token = ReplayToken(self.target.name, own, problem.kind, instrument=self._instrument)
        told = None
        if found is not None:
            runner = InterleavedRunner(self._test(program), self._copies, self._shape, lambda: None)
            texts = Texts(
                called="",
                made=lambda: runner.made,
                threads=[[text] for text in runner.texts],
                outcome=str,
                before=_nothing,
                afterwards=_nothing,
                test=self.target.lines,
            )
            # A race is one in whatever order its accesses come.
            if problem.kind is not FindingKind.DATA_RACE and not found.preemptions:
                detail = f"{self._without_preemptions(runner, problem)}{detail}"
            told = render_interleaving(runner, found.schedule, texts, problem)
            remove_folder()
            token = replace(
                token,
                schedule=found.schedule,
                granularity=self.granularity,
                fingerprint=fingerprint_of(runner.sandbox.sources),
            )
        return Finding(
            problem.kind,
            "explorer",
            (told.summary if told is not None else "") or problem.summary,
            detail=detail,
            schedule=TOKENS.encode(token),
            interleaving=told,
            script=self.target.source,
            rule=problem.rule,
        )

    def confirmation(
        self,
        program: InterleavedProgram,
        finding: Finding,
        found: Counterexample[object],
        watch: ProgressListener,
        *,
        is_seen: bool,
        strict_errors: bool,
    ) -> Confirmation:
        """Run the test with real threads."""
        del is_seen, strict_errors
        assert finding.interleaving is not None
        shape, seconds = self._shape, found.execution.seconds
        called = self._test(program).called
        trial = Trial(called, 0 if shape.is_whole else shape.threads, self._is_unknown, "the test fails", seconds)
        return confirm(trial, finding.interleaving, finding.kind, watch.alive)

    def _is_unknown(self, shown: PausedRun) -> bool:
        """Whether real threads gave what they do not give one after another, where that is compared."""
        orders = self._shape.orders
        return bool(orders) and compared(shown.ends, shown.left) not in (orders or {})

    def _test(self, program: InterleavedProgram) -> InterleavedTest:
        return self.target.with_parameters(program.parameters)

    def _without_preemptions(self, runner: InterleavedRunner, problem: Problem) -> str:
        """What a failure says that needs no preemption: it may be no matter of the order at all."""
        samples = map(PartialOrderSampling, range(_SAMPLES))
        if all(search(runner, sample, AS_FOUND, SearchLimits(1)).problem is not None for sample in samples):
            return f"{FAILS_ALWAYS}\n"
        return "" if problem.kind is FindingKind.DEADLOCK else f"{_FAILS_ALONE}\n"


def _nothing(_: Any) -> Sequence[tuple[str, str]]:
    return ()
