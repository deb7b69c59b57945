"""Programs under the explorer: deterministic, in no time, along any interleaving."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from kcache_model.informers.program import InformerProgram
from kcache_stress.explorer.audit import AuditShare
from kcache_stress.explorer.granularity import Granularity
from kcache_stress.explorer.sandbox import CannotExploreError
from kcache_stress.explorer.scenarios import (
    Copies,
    Load,
    Scenario,
    ScenarioReplay,
    ScenarioResult,
    explore_scenario,
    replay_scenario,
)
from kcache_stress.explorer.schedule import Schedule

from .judging import told_text, what_is_wrong
from .quiet import quiet
from .target import load_informer_target, make_informer_target

_HARNESS: Final = "kcache_conformance.informers"
_PIPELINE: Final = f"{_HARNESS}.pipeline"
_REFERENCE: Final = ("kcache.informers", "kcache.queues", "kcache.store", "kcache.thread_safe_store")
_MOST_EVENTS: Final = 100_000
_PATIENCE: Final = (0.01, 48, 2.0)
"""More than two virtual minutes: longer than any back-off. Pauses end when nothing else can go on, so it costs little;
the first ones are short for the sake of informers that do something every few milliseconds."""


class VirtualInformer:
    """An informer whose modules are copied and instrumented.

    Args:
        spec: ``package.module:factory`` or ``path/to/file.py:factory``.
        instrument: further packages that belong to it, beside those that its factory names.
        granularity: where threads may be switched.

    Raises:
        TargetError: there is no such target.
        CannotExploreError: the modules use something that cannot be scheduled.
    """

    def __init__(self, spec: str, instrument: Sequence[str] = (), granularity: Granularity = Granularity.SYNC) -> None:
        target = load_informer_target(spec)
        location, _, self._attribute = spec.rpartition(":")
        self._name = spec
        file = Path(location).resolve() if location.endswith(".py") else None
        package = location.partition(".")[0]
        own = () if file or package == "kcache" else (package,)
        self._module: str | Path = file or location
        self._instrument = tuple(dict.fromkeys((*own, *instrument, *target.instrument, *_REFERENCE, _HARNESS)))
        self._last: list[Any] = []
        self._unsupported: frozenset[str] = frozenset()
        folder = file.parent if file else None
        self._copies = Copies(self._instrument, granularity, folder, (_PIPELINE, self._module))
        self._share = AuditShare(thorough=0)

    def explore(
        self,
        program: InformerProgram,
        *,
        strategy: Literal["dpor", "pos", "bounded"] = "bounded",
        preemptions: int = 1,
        seconds: float = 10.0,
        executions: int = 100_000,
        seed: int = 0,
        on_loading: Callable[[], object] = lambda: None,
        on_execution: Callable[[], object] = lambda: None,
    ) -> ScenarioResult:
        """Search the interleavings of a program, see :func:`~kcache_stress.explorer.scenarios.explore_scenario`.

        Each execution calls ``on_loading``, has its modules copied if they are not, and calls ``on_execution``.

        Raises:
            CannotExploreError: it does what cannot be controlled.
        """
        samples = self._share.due()
        with quiet():
            result = explore_scenario(
                self._scenario(program, on_loading, on_execution),
                strategy=strategy,
                preemptions=preemptions,
                seconds=seconds,
                executions=executions,
                seed=seed,
                copies=self._copies,
                most_events=_MOST_EVENTS,
                samples=samples,
            )
        if result.coverage.is_complete:
            self._share.spend(result.executions - result.audited, samples)
        if result.refused:
            raise CannotExploreError(result.refused)
        return result

    def run_once(self, program: InformerProgram) -> ScenarioResult:
        """Run a program along one schedule, always the same."""
        return self.explore(program, preemptions=0, executions=1)

    def replay(
        self,
        program: InformerProgram,
        schedule: Schedule,
        on_loading: Callable[[], object] = lambda: None,
        on_execution: Callable[[], object] = lambda: None,
    ) -> ScenarioReplay:
        """Follow a schedule that :meth:`explore` found."""
        scenario = self._scenario(program, on_loading, on_execution)
        with quiet():
            return replay_scenario(scenario, schedule, copies=self._copies, most_events=_MOST_EVENTS)

    def told(self, program: InformerProgram) -> str:
        """What happened in the last execution, see :func:`~.judging.told_text`."""
        return "\n".join(told_text(pipeline, program, self._unsupported) for pipeline in self._last)

    def _scenario(
        self, program: InformerProgram, on_loading: Callable[[], object], on_execution: Callable[[], object]
    ) -> Scenario:
        def setup(load: Load) -> Sequence[Callable[[], object]]:
            on_loading()
            harness: Any = load(_PIPELINE)
            factory: Any = load(self._module)
            for name in self._attribute.split("."):
                factory = getattr(factory, name)
            on_execution()
            target = make_informer_target(factory, self._name)
            pipeline = harness.Pipeline(program, target.create, harness.Patience(*_PATIENCE), target.unsupported)
            self._last, self._unsupported = [pipeline], target.unsupported
            return list(pipeline.works())

        def check(_: list[object]) -> str | None:
            return what_is_wrong(self._last[0], program, self._unsupported)

        return Scenario(self._instrument, setup, check)


@functools.lru_cache(maxsize=4)
def virtual_informer(spec: str, granularity: Granularity, instrument: tuple[str, ...] = ()) -> VirtualInformer:
    """The same one each time: making it takes seconds."""
    return VirtualInformer(spec, instrument, granularity)
