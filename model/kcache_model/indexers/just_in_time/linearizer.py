"""Linearizer of open calls: all ways in which a write takes effect or a read is satisfied, with the fewest writes.

Writes are linearized lazily. A write is linearized when it responds, or when a read that responds needs it. An open
read is linearized before a write only if the write would hurt it. All other calls can still be linearized later with
the same effect: writes of different keys commute, and an unseen write that comes too late may have been hidden before
another write of its key. Wide writes are the exception: both orders of a wide write and another write of the same keys
are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .alternatives import decided
from .configuration import Configuration
from .contents import ABSENT, NEVER, UNSEEN, Time
from .lookahead import Upcoming, is_hurt, may_hold_after
from .reads import Read, ValuesRead
from .writes import Put, WideWrite, Write

Barred = tuple[Write, ...]
"""Writes that must not be linearized yet, because something is being linearized before them."""

Postponed = tuple[Read | Write, ...]
"""Calls that have been decided to come after the write that is being linearized."""


class Linearizer:
    """All ways to linearize a call at the moment ``now``.

    The methods may change the configuration that they receive, and return it among the results.

    Args:
        upcoming: the times at which each key is written in the window.
        spend: called for each configuration that is tried; raises BudgetExhausted when the budget is used up.

    Attributes:
        now: the time of the response that is being processed.
    """

    def __init__(self, upcoming: Upcoming, spend: Callable[[], None]) -> None:
        self.now: Time = -NEVER
        self._upcoming = upcoming
        self._spend = spend

    def read(self, configuration: Configuration, read: Read) -> list[Configuration]:
        """Return all configurations in which ``read``, unsatisfied so far, has taken effect by now."""
        return self._satisfy(configuration, read, (), ())

    def single_write(self, configuration: Configuration, write: Put) -> Sequence[Configuration]:
        """Return all configurations in which ``write``, open so far, has taken effect by now."""
        if configuration.unsatisfied or configuration.wide_writes:
            if write.is_seen:
                return self._linearize(configuration, write, (), ())
            return self._unseen_put(configuration, write)
        can_stay = configuration.cells.get(write.key, ABSENT).seen_until <= self.now
        if write.version.seen_until == UNSEEN:
            return _settled(configuration, write, can_hide=configuration.can_hide(write), can_stay=can_stay)
        if not can_stay:
            return ()
        configuration.take_put(write)
        return (configuration,)

    def wide_write(self, configuration: Configuration, write: WideWrite) -> list[Configuration]:
        """Return all configurations in which ``write``, open so far, has taken effect by now."""
        return self._linearize(configuration, write, (), (), or_hide=not write.is_seen)

    def _linearize(
        self,
        start: Configuration,
        write: Write,
        barred: Barred,
        postponed: Postponed,
        *,
        or_hide: bool = False,
    ) -> list[Configuration]:
        """Return all configurations in which ``write`` has just taken effect; with ``or_hide``, or is hidden."""
        configurations: list[Configuration] = []
        todo = [(start, postponed)]
        barred = (*barred, write)
        while todo:
            configuration, postponed = todo.pop()
            self._spend()
            hideable = or_hide and configuration.can_hide(write)
            hurt = None
            possible = configuration.can_overwrite(write, self.now)
            if possible and configuration.unsatisfied:
                possible, hurt = self._first_hurt(configuration, write, postponed)
            if not possible:
                if hideable:
                    configurations.append(_hidden(configuration, write))
                continue
            if hurt is not None:
                if may_hold_after(configuration, hurt, write, self.now, self._upcoming):
                    todo.append((configuration.copy(), (*postponed, hurt)))
                elif hideable:
                    configurations.append(_hidden(configuration.copy(), write))
                todo += [(each, postponed) for each in self._satisfy(configuration, hurt, barred, postponed)]
                continue
            wide = None
            if configuration.wide_writes:
                wide = self._undecided_wide_write(configuration, write, barred, postponed)
            if wide is not None:
                if not configuration.wide_writes[wide] or _may_follow(wide, write):
                    todo.append((configuration.copy(), (*postponed, wide)))
                todo += [(each, postponed) for each in self._linearize(configuration, wide, barred, postponed)]
                continue
            if hideable:
                configurations.append(_hidden(configuration.copy(), write))
            configuration.take(write)
            configurations.append(configuration)
        return configurations

    def _first_hurt(self, configuration: Configuration, write: Write, postponed: Postponed) -> tuple[bool, Read | None]:
        """Return whether the write can be linearized at all, and a read whose order with the write is undecided.

        A read that the write hurts, but that holds for all alternatives now, is satisfied before the write.
        """
        undecided = None
        for read in configuration.unsatisfied.copy():
            if not is_hurt(configuration, read, write):
                continue
            if configuration.surely_holds(read):
                configuration.unsatisfied.remove(read)
            elif read in postponed:
                if not may_hold_after(configuration, read, write, self.now, self._upcoming):
                    return False, None
            elif undecided is None:
                undecided = read
        return True, undecided

    def _undecided_wide_write(
        self, configuration: Configuration, write: Write, barred: Barred, postponed: Postponed
    ) -> WideWrite | None:
        """An open wide write that may come before ``write`` and would not be hidden by it; ``None`` if none."""
        for wide in configuration.wide_writes:
            if (
                wide not in barred
                and wide not in postponed
                and wide.overlaps(write)
                and (wide.is_seen or not wide.is_covered_by(write))
                and configuration.can_overwrite(wide, self.now)
            ):
                return wide
        return None

    def _satisfy(self, start: Configuration, read: Read, barred: Barred, postponed: Postponed) -> list[Configuration]:
        """Return all configurations in which ``read`` has been satisfied."""
        satisfied: list[Configuration] = []
        if read not in postponed:
            postponed = (*postponed, read)
        todo = [start]
        while todo:
            configuration = todo.pop()
            self._spend()
            if read not in configuration.unsatisfied:
                satisfied.append(configuration)
                continue
            for part in decided(configuration, read) if configuration.alternatives else (configuration,):
                if read.holds(part):
                    part.unsatisfied.remove(read)
                    satisfied.append(part)
                    continue
                repairs = _repairs(part, read, barred)
                for write in repairs:
                    tried = part if write is repairs[-1] else part.copy()
                    todo += self._linearize(tried, write, barred, postponed)
        return satisfied

    def _unseen_put(self, configuration: Configuration, write: Put) -> list[Configuration]:
        """Process the response of an unseen write of one key: it stays or has been hidden.

        If possible, one configuration represents both cases.
        """
        configurations: list[Configuration] = []
        wide_writes = tuple(configuration.wide_writes)
        for wide in wide_writes:
            if wide.at(write.key) is not None and configuration.can_overwrite(wide, self.now):
                for each in self._linearize(configuration.copy(), wide, (write,), ()):
                    configurations += self._unseen_put(each, write)
        can_hide = configuration.can_hide(write)
        can_stay = configuration.can_overwrite(write, self.now)
        matters = False
        if can_stay and configuration.unsatisfied:
            can_stay, matters = self._what_reads_say(configuration, write)
        if matters:
            if can_hide:
                configurations.append(_hidden(configuration.copy(), write))
            return configurations + self._linearize(configuration, write, (), wide_writes, or_hide=not can_hide)
        return [*configurations, *_settled(configuration, write, can_hide=can_hide, can_stay=can_stay)]

    def _what_reads_say(self, configuration: Configuration, write: Put) -> tuple[bool, bool]:
        """Return whether ``write`` may stay, and whether some read may come before it.

        A read that the write hurts, but that holds for all alternatives now, is satisfied before the write.
        """
        can_stay, matters = True, False
        for read in configuration.unsatisfied.copy():
            if not is_hurt(configuration, read, write):
                continue
            if configuration.surely_holds(read):
                configuration.unsatisfied.remove(read)
            elif configuration.alternatives or _repairs(configuration, read, (write,)):
                matters = True
            elif not may_hold_after(configuration, read, write, self.now, self._upcoming):
                can_stay = False
        return can_stay or matters, matters


def _may_follow(wide: WideWrite, write: Write) -> bool:
    """Whether the owed write ``wide`` may come after ``write``: it must not replace a version that is seen later."""
    return not isinstance(write, Put) or wide.at(write.key) is None or write.version.seen_until <= wide.returned


def _repairs(configuration: Configuration, read: Read, barred: Barred) -> list[Write]:
    """Return the open writes of which one must be the last write of a differing key before ``read``; empty if hopeless.

    If the contents differ from the result under several keys, one of these keys is chosen: all must be repaired.
    """
    candidates = [write for write in configuration.open_writes() if write not in barred]
    missing = read.missing(configuration)
    if missing:
        writes = {version: write for write in candidates for version in write.versions()}
        return [writes[missing[0]]] if all(version in writes for version in missing) else []
    key = read.stray_key(configuration)
    if key is not None:
        return [write for write in candidates if (version := write.at(key)) is not None and read.allows(key, version)]
    if isinstance(read, ValuesRead):
        value = read.missing_value(configuration)
        return [write for write in candidates if write.supplies(read.index, value)]
    return []


def _settled(configuration: Configuration, write: Put, *, can_hide: bool, can_stay: bool) -> Sequence[Configuration]:
    """Process the response of ``write`` if no read or wide write depends on it: one configuration for both cases."""
    if can_stay and can_hide:
        configuration.add_alternative(write)
    elif can_stay:
        configuration.take_put(write)
    elif can_hide:
        configuration.hide(write)
    else:
        return ()
    return (configuration,)


def _hidden(configuration: Configuration, write: Write) -> Configuration:
    configuration.hide(write)
    return configuration
