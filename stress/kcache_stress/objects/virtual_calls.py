"""Calls one after another on virtual threads, where a wait that nothing will end is known at once.

With real threads, it takes patience to tell a call that waits from one that takes its time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from kcache_model.errors import CannotExploreError
from kcache_model.finding import FindingKind
from kcache_model.object_types.object_type import Driver, Load

from ..explorer.scenario_runner import Copies, Scenario, ScenarioRunner
from ..explorer.scenario_runner import Load as Loads
from ..explorer.strategies.scheduled import Replay
from ..explorer.virtual.virtual_thread import SetupDeadlockError, UncontrolledError
from .named_target import Place


class MakesDriver(Protocol):
    """Makes a driver of a new object of a factory."""

    def __call__(
        self, factory: Callable[[], Any], /, *, load: Load, passing: tuple[type[BaseException], ...]
    ) -> Driver:
        """The driver of a new one."""
        ...


class VirtualCalls:
    """Makes calls on new objects of a private copy of a target, by threads that take turns.

    Args:
        place: where the target is.
        driver: makes the calls.
    """

    def __init__(self, place: Place, driver: MakesDriver) -> None:
        self._place = place
        self._driver = driver
        self._copies = Copies(place.instrument, folder=place.folder)
        self._runners: dict[int, ScenarioRunner] = {}
        self._calls: Sequence[tuple[int, Any]] = ()
        self._is_out_of_reach = False

    def wait(self, calls: Sequence[tuple[int, Any]]) -> bool:
        """Whether one of the calls waits for ever; not if that cannot be told.

        Args:
            calls: (who calls, what), in order.
        """
        if self._is_out_of_reach:
            return False
        self._calls = calls
        threads = len({thread for thread, _ in calls})
        try:
            if threads not in self._runners:
                self._runners[threads] = ScenarioRunner(Scenario((), self._set_up), self._copies)
            execution = self._runners[threads].run(Replay(()))
        except (CannotExploreError, UncontrolledError):
            self._is_out_of_reach = True
            return False
        problem = execution.problem
        # What no event tells of matters to other orders, not to this one; what is real, such as a clock, does.
        if problem is None or problem.kind is not FindingKind.DEADLOCK or self._copies.sandbox.scheduler.doubts:
            return False
        return execution.threads > 0  # there are none where the constructor waits

    def _set_up(self, load: Loads) -> list[Callable[[], None]]:
        lock = load("threading").Lock
        factory = self._place.factory(load(self._place.module))
        driver = self._driver(factory, load=load, passing=(SetupDeadlockError,))
        turns = [lock() for _ in self._calls]
        for turn in turns[1:]:
            turn.acquire()
        own: dict[int, list[int]] = defaultdict(list)
        for position, (thread, _) in enumerate(self._calls):
            own[thread].append(position)

        def work(positions: list[int]) -> None:
            for position in positions:
                turns[position].acquire()
                thread, operation = self._calls[position]
                driver.call(operation, thread)
                for following in turns[position + 1 : position + 2]:
                    following.release()

        return [partial(work, positions) for positions in own.values()]
