"""The linearization of a history, window by window, response by response: all configurations that are possible."""

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
"""So many versions may be known before those that are gone are forgotten."""


_BETWEEN_LOOKS: Final = 32
"""Responses after which to look whether there is time left: each may take long if very many calls are open."""


class Linearization:
    """Lets calls begin and end in turn. All that it keeps of the past are the configurations, and the open calls.

    Args:
        indexes: the names of the indices of the store.
        semantics: which generation of client-go decides.
        budget: what may be spent.
        strict_errors: whether an error must be of the type that is due.

    Attributes:
        status: OK so far, VIOLATION or UNKNOWN.
        stopped_at: if it is not OK, the position of the call at whose response it came to an end; ``None`` if it was
            over before the first response of a window.
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
        """Judge everything that happens from the beginning of one call to that of another.

        What the calls give that begin in between is known from the start, and rules out what contradicts it.

        Args:
            calls: in the order of their invocations.
            start: the index of the first call. Those before have been judged, or ended before it began.
            stop: the index behind the last call, which must have begun before the next. If there is no next one,
                everything is judged until the end.

        Raises:
            Unsuitable: there is an operation among them that the checker cannot judge.
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
                after += linearizer.put(configuration, call) if call in configuration.puts else (configuration,)
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
                # Most that can be united has just come about; to look each time takes longer than it saves.
                after = united(after, linearizer.now)
            self.largest = max(self.largest, len(after))
        elif not after:
            self.status = Status.VIOLATION
        self._configurations = after

    def _forget(self) -> None:
        """Now and then, forget the versions that are gone."""
        known = self._translator.store.by_stamp
        if len(known) > self._forget_at:
            self._translator.keep(self._versions())
            self._forget_at = 2 * len(known) + _LEAST_REMEMBERED

    def _versions(self) -> set[Version]:
        """The versions that may be in the store, now or as soon as an open write takes effect."""
        found = {version for configuration in self._configurations for version in configuration.versions()}
        for call in self._open:
            if isinstance(call, Write):
                found.update(call.versions())
        return found

    def checkpoint(self) -> Checkpoint:
        """All that it takes to continue from here, later and with other calls. O(configurations * objects)."""
        return Checkpoint(self)


class Checkpoint:
    """A linearization between two windows.

    Attributes:
        horizon: when the last of the calls that are open returns. Whatever began before the checkpoint is taken to
            return what it did, so a linearization that is continued from here must go on until then.
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
        """A linearization that continues from here. What was known of versions is restored: use one at a time."""
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
