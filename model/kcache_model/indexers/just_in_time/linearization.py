"""Linearization of a history, window by window, response by response: the set of all possible configurations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final

from ...linearizability.budget import BudgetExhausted, RunningBudget
from ...verdict import Status
from ..items import Semantics
from .configuration import Configuration
from .contents import NEVER, Time, Version
from .dominance import undominated
from .linearizer import Linearizer
from .reads import Read
from .translation import PositionedCall, Translator
from .union import united
from .writes import Put, WideWrite, Write

_RETURNED = attrgetter("returned")

_LEAST_REMEMBERED: Final = 1_000
"""Number of known versions at which versions that can no longer be in the store are first forgotten."""


_BETWEEN_LOOKS: Final = 32
"""Number of responses between two checks of the budget: a response takes long if very many calls are open."""


class Linearization:
    """Linearization: processes invocations and responses in order. It keeps only configurations and open calls.

    Args:
        indexes: the names of the indices of the store.
        semantics: the generation of client-go that defines the correct results.
        budget: the remaining budget of time and configurations.
        strict_errors: whether errors must be of the expected type.

    Attributes:
        status: OK so far, VIOLATION or UNKNOWN.
        stopped_at: if the status is not OK, the position of the call at whose response it stopped; ``None`` if it
            stopped before the first response of a window.
        largest: the largest number of configurations after a response.
    """

    def __init__(
        self, indexes: Iterable[str], semantics: Semantics, budget: RunningBudget, *, strict_errors: bool
    ) -> None:
        self.status = Status.OK
        self.stopped_at: int | None = None
        self.largest = 1
        self._indexes = tuple(sorted(set(indexes)))
        self._semantics = semantics
        self._strict_errors = strict_errors
        self._translator = Translator(self._indexes, semantics, strict_errors=strict_errors)
        self._budget = budget
        self._configurations = [Configuration(self._indexes)]
        self._open: list[Read | Write] = []
        self._forget_at = _LEAST_REMEMBERED

    def judge(self, calls: Sequence[PositionedCall], start: int, stop: int) -> None:
        """Judge all invocations and responses from the invocation of one call until the invocation of another.

        The results of the calls that begin in between are known in advance; configurations that contradict them are
        dropped at once.

        Args:
            calls: in the order of their invocations.
            start: the index of the first call. The calls before it have been judged, or ended before it began.
            stop: the index after the last call, which must have begun before the call at ``stop``. If there is no call
                at ``stop``, everything is judged until the end.

        Raises:
            Unsuitable: the checker cannot judge one of the operations.
        """
        window = self._translator.translate(calls, start, stop)
        until: Time = calls[stop][1].invoked if stop < len(calls) else NEVER
        for version in window.required:
            self._configurations = [each for each in self._configurations if each.require(version)]
        if not self._configurations:
            self.status = Status.VIOLATION
            return
        linearizer = Linearizer(window.upcoming, self._budget.spend)
        begun, waiting = window.begun, 0
        self._open += begun
        self._open.sort(key=_RETURNED)
        ended, beginnings = 0, [*[call.invoked for call in begun], NEVER]
        for call in self._open:
            now = call.returned
            if now >= until:
                break
            ended += 1
            while beginnings[waiting] <= now:
                self._begin(begun[waiting])
                waiting += 1
            linearizer.now = now
            try:
                if ended % _BETWEEN_LOOKS == 0 and self._budget.is_used_up():
                    raise BudgetExhausted
                self._end(linearizer, call)
            except BudgetExhausted:
                self.status, self.stopped_at = Status.UNKNOWN, call.position
                return
            if not self._configurations:
                self.stopped_at = call.position
                return
        for call in begun[waiting:]:
            self._begin(call)
        del self._open[:ended]
        self._forget()

    def _begin(self, call: Read | Write) -> None:
        if isinstance(call, Read):
            for configuration in self._configurations:
                if not (configuration.surely_holds(call) if configuration.alternatives else call.holds(configuration)):
                    configuration.unsatisfied.append(call)
        elif isinstance(call, Put):
            for configuration in self._configurations:
                configuration.begin_put(call)
        elif isinstance(call, WideWrite):
            for configuration in self._configurations:
                configuration.begin_wide(call)

    def _end(self, linearizer: Linearizer, call: Read | Write) -> None:
        configurations = self._configurations
        after: list[Configuration] = []
        if isinstance(call, Read):
            for configuration in configurations:
                if call in configuration.unsatisfied:
                    break
            else:
                return
            for configuration in configurations:
                after += linearizer.read(configuration, call) if call in configuration.unsatisfied else (configuration,)
        elif isinstance(call, Put):
            for configuration in configurations:
                after += (
                    linearizer.single_write(configuration, call) if call in configuration.puts else (configuration,)
                )
        elif isinstance(call, WideWrite):
            for configuration in configurations:
                after += (
                    linearizer.wide_write(configuration, call)
                    if call in configuration.wide_writes
                    else (configuration,)
                )
        if len(after) > 1:
            after = undominated(after)
            if len(after) > len(configurations):
                # Configurations that can be united mostly arise here; trying it each time costs more than it saves.
                after = united(after, linearizer.now)
            self.largest = max(self.largest, len(after))
        elif not after:
            self.status = Status.VIOLATION
        self._configurations = after

    def _forget(self) -> None:
        """Forget the versions that can no longer be in the store, if too many versions are known."""
        known = self._translator.store.by_stamp
        if len(known) > self._forget_at:
            self._translator.keep(self._versions())
            self._forget_at = 2 * len(known) + _LEAST_REMEMBERED

    def _versions(self) -> set[Version]:
        """The versions that may be in the store, now or as soon as an open write takes effect."""
        versions = {version for configuration in self._configurations for version in configuration.versions()}
        for call in self._open:
            if isinstance(call, Write):
                versions.update(call.versions())
        return versions

    def checkpoint(self) -> Checkpoint:
        """Return a checkpoint from which to continue later with other calls. O(configurations * objects)."""
        return Checkpoint(self)


class Checkpoint:
    """A linearization between two windows.

    Attributes:
        horizon: the last response among the open calls. The results of calls that began before the checkpoint are
            already taken into account, so a linearization that continues from here must go on until this time.
    """

    def __init__(self, begun: Linearization) -> None:
        self._begun = begun
        self._configurations = [configuration.copy() for configuration in begun._configurations]
        self._open = begun._open.copy()
        self._stored = begun._versions()
        self._ahead = begun._translator.ahead()
        self._known = [(version, version.seen_until, version.due) for version in (*self._stored, *self._ahead)]
        self.horizon = max([call.returned for call in self._open if call.returned != NEVER], default=-NEVER)

    def resumed(self) -> Linearization:
        """Return a linearization that continues from here.

        The attributes of the versions, which are shared, are reset to their values at the checkpoint; so use only one
        linearization at a time.
        """
        old = self._begun
        resumed = Linearization(old._indexes, old._semantics, old._budget, strict_errors=old._strict_errors)
        resumed._configurations = [configuration.copy() for configuration in self._configurations]
        resumed._open = self._open.copy()
        for version, seen_until, due in self._known:
            version.seen_until = seen_until
            version.due = due
        resumed._translator.keep(self._stored)
        resumed._translator.store.foresee(self._ahead)
        return resumed
