"""Informers under the explorer: it runs programs deterministically, in virtual time, along any interleaving."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from math import inf
from pathlib import Path
from typing import Any, Final

from kcache_model.errors import CannotExploreError
from kcache_model.finding import Finding, FindingKind
from kcache_model.informers.minimise import minimise
from kcache_model.informers.program import InformerProgram
from kcache_model.progress import NoProgress, ProgressListener
from kcache_model.rules import BrokenRule
from kcache_stress.engine.audit import AuditShare
from kcache_stress.engine.counterexample import Counterexample
from kcache_stress.engine.execution import Execution, Problem
from kcache_stress.engine.granularity import Granularity
from kcache_stress.engine.preemption_bounded import PreemptionBounded
from kcache_stress.engine.search import SearchLimits, SearchResult, search
from kcache_stress.engine.strategy import Strategy
from kcache_stress.modules.copies import Copies
from kcache_stress.modules.private_packages import existing
from kcache_stress.modules.sandbox import Sandbox
from kcache_stress.modules.sources import fingerprint_of
from kcache_stress.target.confirmation import Answer, Confirmation, answer_of_runs
from kcache_stress.target.exploration_result import RunnerAndJudge
from kcache_stress.target.scenario_runner import SCENARIO_JUDGE, CallSequence, Load, Scenario, ScenarioRunner, Work
from kcache_stress.trace.renderer import Texts, render_interleaving

from .findings import InformerToken, finding_of, minimal_finding
from .judging import run_text, what_is_wrong
from .quiet import quiet
from .real import RealInformer, noted
from .target import InformerTarget, load_informer_target, make_informer_target

_HARNESS: Final = "kcache_conformance.informers"
_PIPELINE: Final = f"{_HARNESS}.pipeline"
_REFERENCE: Final = ("kcache.informers", "kcache.queues", "kcache.store", "kcache.thread_safe_store")
_MOST_EVENTS: Final = 100_000
_PATIENCE: Final = (0.01, 48, 2.0)
"""More than two virtual minutes: longer than any back-off. A pause ends when no other thread can run, so the wait costs
little real time. The first pauses are short, for informers that do something every few milliseconds."""
_CONFIRMING_RUNS: Final = 5
_FOLDER: Final = str(Path(__file__).parent)


class InformerRunner(ScenarioRunner):
    """Runner of one program; each execution has a new server and a new informer.

    Attributes:
        pipeline: the pipeline of the last execution.
    """

    def __init__(self, exploration_target: InformerExplorationTarget, program: InformerProgram) -> None:
        self.pipeline: Any = None
        self._exploration_target = exploration_target
        self._program = program
        super().__init__(Scenario((), self._set_up, self._look_back), exploration_target.copies, _MOST_EVENTS)

    @property
    def made(self) -> object:
        """The informer of the last execution."""
        return self.pipeline.informer

    def run_text(self) -> str:
        """Describe the last execution, see :func:`~.judging.run_text`."""
        return run_text(self.pipeline)

    def run(self, strategy: Strategy) -> Execution[object]:
        """Run the program once under ``strategy``."""
        with quiet():
            return super().run(strategy)

    def _set_up(self, load: Load) -> Sequence[Work]:
        with quiet(), self._exploration_target.loading():
            harness: Any = load(_PIPELINE)
            target = self._exploration_target.loaded(load)
        patience = harness.Patience(*_PATIENCE)
        self.pipeline = harness.Pipeline(self._program, target.create, patience, target.unsupported)
        return [CallSequence(calls) for calls in self.pipeline.calls()]

    def _look_back(self, _: list[object]) -> BrokenRule | None:
        return what_is_wrong(self.pipeline)


class InformerExplorationTarget:
    """An informer for the explorer; a :class:`~kcache_stress.target.exploration_target.ExplorationTarget`.

    Args:
        spec: ``package.module:factory`` or ``path/to/file.py:factory``.
        instrument: further packages to instrument, in addition to the packages that its factory names.
        granularity: the points at which threads may be switched.

    Attributes:
        target: the informer.
        copies: the instrumented copies of its modules.
        share: the share of audits among its executions.

    Raises:
        TargetError: there is no such target.
        CannotExploreError: the modules use something that cannot be scheduled.
    """

    def __init__(self, spec: str, instrument: Sequence[str] = (), granularity: Granularity = Granularity.SYNC) -> None:
        self.target: InformerTarget = load_informer_target(spec)
        self.granularity = granularity
        location, _, self._attribute = spec.rpartition(":")
        self._spec = spec
        self._instrument = existing(tuple(instrument))
        file = Path(location).resolve() if location.endswith(".py") else None
        package = location.partition(".")[0]
        own = () if file or package == "kcache" else (package,)
        self._module: str | Path = file or location
        packages = (*own, *self._instrument, *self.target.instrument, *_REFERENCE, _HARNESS)
        folder = file.parent if file else None
        self.copies = Copies(tuple(dict.fromkeys(packages)), granularity, folder, (_PIPELINE, self._module))
        self.share = AuditShare(thorough=0)
        self._others: dict[Granularity, InformerExplorationTarget] = {granularity: self}
        self._wider: dict[frozenset[str], InformerExplorationTarget] = {}
        self._watch: ProgressListener = NoProgress()
        self._note = ""
        self._is_controlled = False

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox with the code of the informer."""
        return self.copies.sandbox

    def at(self, granularity: Granularity) -> InformerExplorationTarget:
        """Return the same informer at another granularity; each is built once."""
        if granularity not in self._others:
            target = InformerExplorationTarget(self._spec, self._instrument, granularity)
            target._others = self._others
            self._others[granularity] = target
        return self._others[granularity]

    def wider(self, modules: frozenset[str]) -> InformerExplorationTarget:
        """Return the same informer with these modules instrumented, too; itself if there are none."""
        if not modules:
            return self
        if modules not in self._wider:
            further = (*self._instrument, *sorted(modules))
            self._wider[modules] = InformerExplorationTarget(self._spec, further, self.granularity)
        return self._wider[modules]

    def contract(self, program: InformerProgram) -> str:
        """Return nothing: informers run no event loop."""
        del program
        return ""

    assumes = contract

    def excuses_own_threads(self, program: InformerProgram) -> bool:
        """Return no: rules say what is wrong."""
        del program
        return False

    def announce(self, program: InformerProgram, watch: ProgressListener) -> None:
        """Report to ``watch`` that a program is about to run."""
        for exploration_target in self._others.values():
            exploration_target._watch, exploration_target._note = watch, noted(program)
        watch.note(self._note)

    @contextlib.contextmanager
    def loading(self) -> Iterator[None]:
        """Pause the watch while modules are loaded, which may take seconds; then report the program again."""
        self._watch.rest()
        yield
        self._watch.note(self._note)

    def loaded(self, load: Load) -> InformerTarget:
        """Return the target with the factory of the private, instrumented module."""
        factory: Any = functools.reduce(getattr, self._attribute.split("."), load(self._module))
        return make_informer_target(factory, self._spec)

    @contextlib.contextmanager
    def open_runner(
        self, program: InformerProgram, *, strict_errors: bool = False, pulse: Callable[[], None] = lambda: None
    ) -> Iterator[RunnerAndJudge[object]]:
        """Open the runner and the judge of a program; each execution reports itself to the watch.

        Raises:
            CannotExploreError: the explorer cannot schedule the informer.
        """
        del strict_errors, pulse
        self._require_control()
        runner = InformerRunner(self, program)
        try:
            yield RunnerAndJudge(runner, SCENARIO_JUDGE)
        finally:
            runner.clean_up()

    def run_once(self, program: InformerProgram) -> Problem | None:
        """Run a program along one schedule, always the same; return the problem, or ``None``.

        Raises:
            CannotExploreError: the explorer cannot control the informer.
        """
        try:
            return self._searched(program).problem
        finally:
            self._watch.rest()

    def smaller(
        self, program: InformerProgram, fails: Callable[[InformerProgram], bool], *, seconds: float, attempts: int
    ) -> InformerProgram:
        """Return a program that still fails and is no larger."""
        return minimise(program, fails, seconds=seconds, attempts=attempts)

    def finding(
        self,
        program: InformerProgram,
        problem: Problem,
        counterexample: Counterexample[object] | None = None,
        *,
        strict_errors: bool = False,
        detail: str = "",
    ) -> Finding:
        """Create the finding of a problem, with the interleaving of the counterexample if there is one."""
        del strict_errors
        if counterexample is None:
            return minimal_finding("explorer", problem, self._spec, program)
        self._watch.rest()  # tracing each step may exceed the patience for a call, and the schedule is known to end
        self._watch = NoProgress()
        runner = InformerRunner(self, program)
        steps = [["start()", *map(str, thread), "settle, stop()"] for thread in program.threads[:1]]
        steps += [["wait for start()", *map(str, thread), "done"] for thread in program.threads[1:]]
        rendered = render_interleaving(
            runner,
            counterexample.schedule,
            Texts(
                called="informer",
                root=lambda: runner.made,
                threads=steps,
                outcome=lambda _: "done",
                before=lambda _: [(str(step), "done") for step in program.before],
                afterwards=lambda _: (),
                is_hidden=lambda path: path.startswith(_FOLDER),
            ),
            problem,
        )
        token = InformerToken(
            self._spec,
            program,
            problem.kind,
            counterexample.schedule,
            self.granularity,
            fingerprint_of(runner.sandbox.sources),
            self._instrument,
        )
        lines = filter(None, (str(program), runner.run_text(), detail))
        return finding_of("explorer", problem, token, detail="\n".join(lines), interleaving=rendered)

    def confirmation(
        self,
        program: InformerProgram,
        finding: Finding,
        counterexample: Counterexample[Any],
        watch: ProgressListener,
        *,
        is_seen: bool,
        strict_errors: bool,
        until: float = inf,
    ) -> Confirmation:
        """Run a program on real threads a few times, unless the explorer observed all code of its counterexample."""
        del counterexample, strict_errors, until
        if is_seen:
            return Confirmation(Answer.NOT_TRIED)
        real = RealInformer(self.target, watch)
        problem = next(filter(None, (real.run(program) for _ in range(_CONFIRMING_RUNS))), None)
        return answer_of_runs(finding.kind, None if problem is None else problem.kind)

    def _searched(self, program: InformerProgram) -> SearchResult[object]:
        with self.open_runner(program) as (runner, judge):
            return search(runner, PreemptionBounded(0), judge, SearchLimits(executions=1))

    def _require_control(self) -> None:
        """Reject an informer that waits for something that the explorer does not control.

        Otherwise each program would be reported as a deadlock. It is checked once, with the smallest program, which
        deadlocks under the explorer but passes on real threads.
        """
        if self._is_controlled:
            return
        self._is_controlled = True
        plainest = InformerProgram()
        problem = self._searched(plainest).problem
        if problem is None or problem.kind is not FindingKind.DEADLOCK:
            return
        if RealInformer(load_informer_target(self._spec)).run(plainest) is None:
            self._is_controlled = False
            raise CannotExploreError(
                "it waits for something outside of its own modules; name the packages that it uses with "
                "--instrument, or in kcache_instrument of the factory"
            )


@functools.lru_cache(maxsize=4)
def informer_exploration_target(
    spec: str, instrument: tuple[str, ...] = (), granularity: Granularity = Granularity.SYNC
) -> InformerExplorationTarget:
    """Return the exploration target of an informer; cached, because building it takes seconds."""
    return InformerExplorationTarget(spec, instrument, granularity)
