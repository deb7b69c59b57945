"""Replay of calls on new objects of a class or a model: on virtual threads, or where these fail, on real threads."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from kcache_model.history import PREFIX_THREAD, Call
from kcache_model.object_types.object_type import Driver, MakeDriver
from kcache_model.object_types.plain import ObjectProgram
from kcache_model.object_types.replay_steps import Begun, CalledBy, Calls, History, Overtaken, Passes, Stage, is_timed
from kcache_model.outcomes import WAITS, Outcome
from kcache_stress.loading import load_object, named_packages
from kcache_stress.objects.named_target import place_named

from ..objects.patient_caller import PatientCaller

if TYPE_CHECKING:
    from kcache_stress.objects.virtual_calls import VirtualCalls

_FURTHER: Final = (Begun, Overtaken, Passes)
"""Steps that only virtual threads can take."""

_REAL_REPETITIONS: Final = 6
"""Calls on real threads, to see whether their results vary. Rare random results show on virtual threads instead."""
_PLACES: Final = 16
"""Replays that differ in all that no result may depend on. A coin is alike in all of them once in 32,768 times."""

_PATIENCE_SECONDS: Final = 0.5
"""Seconds a call on real threads may take before it counts as waiting: calls of a specification are quick."""

_MOST_COMPARED: Final = 64
_MOST_REAL_SECONDS: Final = 0.05
"""The number of calls that neither wait nor sleep, repeated on real threads. The results are equal unless the class
detects that its threads are virtual."""


class Replay:
    """Makes calls on new objects, and returns the outcome of the last call.

    Each replay differs from the previous replay in everything that no result may depend on: thread identities, the
    time, and random numbers; a replay with a call at a given time does not. The virtual clock is the clock of
    executions: waits and sleeps take no time, and a wait with a timeout ends as in an execution. If real threads have
    other results, real threads make the calls; the explorer asks :attr:`of_explorer`. On real threads, a call that does
    not return is abandoned. Waiting for it takes time, so the calls are remembered, unless they were the calls that
    returned last.

    Args:
        name: of the class or model.
        factory: creates its objects.
        driver: makes the calls on an object of a factory.
        invariants: names of calls that are not made.

    Attributes:
        driver: as passed; a replacement must wait in the same cases.
        differing: names of the calls whose results differ on real threads: they show that the threads are virtual.
    """

    def __init__(
        self, name: str, factory: Callable[[], Any], driver: MakeDriver, invariants: frozenset[str] = frozenset()
    ) -> None:
        self.driver = driver
        self._name = name
        self._factory = factory
        self._invariants = invariants
        self._virtual: VirtualCalls | None = None
        self._elsewhere = 0
        self._real: Driver | None = None
        self.differing: set[str] = set()
        self._compared: set[Calls] = set()
        self._callers: dict[int, PatientCaller] = {}
        self._others: dict[int, PatientCaller] = {}
        self._waiting: set[Calls] = set()
        self._returned: Calls = ()
        self._looks_ahead = True
        self.real_waits = 0
        """The number of waits on real threads; each takes as long as the patience lasts."""

    def __call__(self, calls: Calls) -> Outcome:
        """Make the calls one after another, and return the outcome of the last call."""
        if calls[-1].name in self._invariants:
            return Outcome()
        stage = self.stage(calls)
        if any(isinstance(step, _FURTHER) for step in calls):
            return WAITS if stage is None else stage.outcomes[-1][0]
        if stage is not None and len(self._compared) < _MOST_COMPARED and calls not in self._compared:
            self._compared.add(calls)
            if self._does_differ(calls, stage):
                self.differing.add(calls[-1].name)
        return self.on_real_threads(calls) if stage is None or self.differing else stage.outcomes[-1][0]

    def result(self, calls: Calls) -> object:
        """Return the result of the last call as an object; ``None`` if it did not return. Only for plain drivers."""
        return self.object_and_result(calls)[1]

    def object_and_result(self, calls: Calls) -> tuple[object, object]:
        """Return the object of the class and the result of the last call; ``None`` for both if it did not return."""
        self._virtual = self._virtual or self._virtual_calls()
        self._virtual.keeps_driver, self._real = True, None
        outcome = self(calls)
        driver: Any = self._real or self._virtual.driver
        self._virtual.keeps_driver, self._virtual.driver, self._real = False, None, None
        if outcome.waits or outcome.error is not None or driver is None:
            return None, None
        results = driver.results(calls[-1].name)
        return (driver.made, results[-1]) if results else (None, None)

    @property
    def spinning(self) -> frozenset[str]:
        """The names of calls that loop forever in every order: no outcome of them can be observed."""
        return frozenset(self._virtual.spinning if self._virtual is not None else ())

    @property
    def polling(self) -> frozenset[str]:
        """The names of calls that loop forever in a replay, with or without an access to shared state."""
        return self.spinning | frozenset(self._virtual.polling if self._virtual is not None else ())

    @property
    def is_timed(self) -> bool:
        """Whether results may depend on the moment of a call; false if no replay so far has used a clock."""
        return self._virtual is None or bool(self._virtual.is_timed or self.differing)

    @property
    def has_read_clock(self) -> bool:
        """Whether the class has read the clock in a replay."""
        return self._virtual is not None and self._virtual.has_read_clock

    @property
    def starts_threads(self) -> bool:
        """Whether the class has started threads of its own in a replay."""
        return self._virtual is not None and self._virtual.starts_threads

    def succeeds_beside(self, call: Any, others: Iterable[Any]) -> bool:
        """Whether a waiting call on a new object returns if another call is made meanwhile, once or twice."""
        stages = (self.stage((Begun(CalledBy(call, 0)), *[CalledBy(other, 1)] * 2)) for other in others)
        outcomes = (stage.outcomes[0][0] for stage in stages if stage is not None)
        return any(not outcome.waits and outcome.error is None for outcome in outcomes)

    @cached_property
    def of_explorer(self) -> ExplorerReplay:
        """The replays with which executions of the explorer are compared."""
        return ExplorerReplay(self, self._invariants)

    def stage(self, steps: Calls) -> Stage | None:
        """Return the outcomes of steps on a new object; ``None`` if virtual threads cannot decide them."""
        return None if self.differing else self.virtual_stage(steps)

    def virtual_stage(self, steps: Calls) -> Stage | None:
        """Return the outcomes of steps on virtual threads, whatever real threads do; ``None`` if they are not known."""
        last = steps[-1].call if isinstance(steps[-1], Begun) else steps[-1]
        if getattr(last, "name", None) in self._invariants:
            return None
        self._virtual = self._virtual or self._virtual_calls()
        self._elsewhere = 0 if any(map(is_timed, steps)) else (self._elsewhere + 1) % _PLACES
        return self._virtual.replay(_with_callers(steps), self._with_driver, elsewhere=self._elsewhere)

    def in_passing(self, calls: Calls) -> tuple[Outcome, ...]:
        """Return the outcomes of some calls until one waits; empty if anything unusual happens, now or before."""
        if not self._looks_ahead or any(call.name in self._invariants for call in calls):
            return ()
        self._virtual = self._virtual or self._virtual_calls()
        self._elsewhere = (self._elsewhere + 1) % _PLACES
        outcomes = self._virtual.in_passing(_with_callers(calls), self._with_driver, elsewhere=self._elsewhere)
        self._looks_ahead = bool(outcomes)  # if something unusual takes long, it does so once
        return outcomes

    def explains(self, history: History, pulse: Callable[[], None]) -> bool | None:
        """Whether the calls may have their results, if threads of the class run at any time; ``None`` if unknown."""
        return None if self.differing else self.explains_virtually(history, pulse)

    def explains_virtually(self, history: History, pulse: Callable[[], None]) -> bool | None:
        """Whether virtual threads may have the results of the calls; ``None`` if unknown."""
        if self._virtual is None:
            return None
        is_made = [call.operation.name not in self._invariants for call in history.calls]
        calls, idle_before = (
            itertools.compress(history.calls, is_made),
            itertools.compress(history.idle_before, is_made),
        )
        called = replace(history, calls=tuple(calls), idle_before=tuple(idle_before))
        return self._virtual.explains(called, self._with_driver, pulse)

    def _with_driver(self, factory: Callable[[], Any], /, **more: Any) -> Driver:
        return self.driver(factory, ObjectProgram(), **more)

    def varies(self, calls: Calls) -> bool:
        """Whether the last call has varying results on real threads, where random numbers are real."""
        stage = self.stage(calls)
        if stage is None or not self._is_comparable(stage):
            return False
        return len({self.on_real_threads(calls) for _ in range(_REAL_REPETITIONS)}) > 1

    def _does_differ(self, calls: Calls, stage: Stage) -> bool:
        """Whether real threads have other, repeatable results: the class detects that its threads are virtual."""
        virtual = stage.outcomes[-1][0]
        if not self._is_comparable(stage) or any(map(is_timed, calls)):
            return False
        real = self.on_real_threads(calls)
        if real in (virtual, WAITS) or real != self.on_real_threads(calls):
            return False
        again = self.stage(calls)
        return again is not None and again == self.stage(calls) and not self._may_be_late(calls, real)

    def _is_comparable(self, stage: Stage) -> bool:
        """Whether real threads must have the results of a replay; if it waits, that would take long.

        If it reads the clock, its results may depend on the speed of the machine.
        """
        takes_time = stage.outcomes[-1][0].waits or sum(stage.seconds) > _MOST_REAL_SECONDS
        return not (takes_time or (self._virtual is not None and self._virtual.reads_clock))

    def _may_be_late(self, calls: Calls, real: Outcome) -> bool:
        """Whether the last call may have an outcome because threads of the class are late; false if it starts none."""
        if self._virtual is None or not self._virtual.starts_threads:
            return False
        called = [call if isinstance(call, CalledBy) else CalledBy(call, PREFIX_THREAD) for call in calls]
        timed_calls = tuple(Call(by.thread, by, 2 * at, 2 * at + 1, real) for at, by in enumerate(called))
        history = History(
            timed_calls, lambda call, outcome: call != timed_calls[-1] or outcome == real, None, (0,) * len(timed_calls)
        )
        return self._virtual.explains(history, self._with_driver, lambda: None) is not False

    def _virtual_calls(self) -> VirtualCalls:
        from kcache_stress.objects.virtual_calls import VirtualCalls  # part of the explorer, which is slow to import

        packages = frozenset(named_packages(load_object(self._name), self._name))
        return VirtualCalls(place_named(self._name, packages))

    def on_real_threads(self, calls: Calls) -> Outcome:
        """Return the outcome of the last call, all made by real threads; it waits if a call does not return in time."""
        if any(calls[:count] in self._waiting for count in range(1, len(calls) + 1) if self._waiting):
            return WAITS
        outcome = Outcome()
        driver = self._real = self.driver(
            self._factory, ObjectProgram(), load=importlib.import_module, passing=(), target=None
        )
        self._callers, self._others = self._others, self._callers
        for position, call in enumerate(calls):
            by = call if isinstance(call, CalledBy) else CalledBy(call, -1)
            caller = self._callers.setdefault(by.thread, PatientCaller())
            outcome, _ = caller.call(driver, by.operation, _PATIENCE_SECONDS, by.thread)
            if outcome.waits:
                self.real_waits += 1
                if calls != self._returned:
                    self._waiting.add(calls[: position + 1])
                return outcome
        self._returned = calls
        return outcome


class ExplorerReplay:
    """Replays for the explorer: on virtual threads, also if real threads have other results, as executions are there.

    Args:
        replay: makes the calls.
        invariants: names of calls that are not made.
    """

    def __init__(self, replay: Replay, invariants: frozenset[str]) -> None:
        self._replay = replay
        self._invariants = invariants
        self.stage, self.explains, self.in_passing = replay.virtual_stage, replay.explains_virtually, replay.in_passing

    def __call__(self, calls: Calls) -> Outcome:
        """Make the calls one after another, and return the outcome of the last call."""
        if calls[-1].name in self._invariants:
            return Outcome()
        stage = self.stage(calls)
        if stage is not None:
            return stage.outcomes[-1][0]
        return WAITS if any(isinstance(step, _FURTHER) for step in calls) else self._replay.on_real_threads(calls)

    @property
    def spinning(self) -> frozenset[str]:
        """See :attr:`Replay.spinning`."""
        return self._replay.spinning

    @property
    def polling(self) -> frozenset[str]:
        """See :attr:`Replay.polling`."""
        return self._replay.polling

    @property
    def starts_threads(self) -> bool:
        """See :attr:`Replay.starts_threads`."""
        return self._replay.starts_threads

    @property
    def differing(self) -> set[str]:
        """See :attr:`Replay.differing`."""
        return self._replay.differing


def _with_callers(steps: Calls) -> Calls:
    return tuple(step if isinstance(step, (CalledBy, *_FURTHER)) else CalledBy(step, -1) for step in steps)
