"""Linearizability judged along an execution, when all orders of its synchronisation are going to be explored.

A call begins right before its first synchronisation and ends right after its last one: a search that tries all orders
of synchronisation tries with them all orders in which calls can begin and end. What is left open is when a call without
any synchronisation happened: at any moment between its neighbours in its thread. Such a call floats, and all its
moments are judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from kcache_model.linearizability.monitor import IMPOSSIBLE, Monitor
from kcache_model.outcomes import Outcome

_Floating = tuple[tuple[int, int, Outcome], ...]
"""(thread, call, outcome) of calls that may or may not have happened yet, in the order of their threads."""

_Possibility = tuple[int, _Floating]
"""What the monitor says, and which calls still float."""

WRONG: Final = IMPOSSIBLE
"""The calls could have happened at moments that nothing explains."""


class Ledger:
    """Sets of possibilities, numbered. All of them must have an explanation; what follows is remembered.

    Args:
        monitor: judges one order of beginnings and ends.

    Attributes:
        start: the set to begin with.
    """

    def __init__(self, monitor: Monitor[Any, Any, Outcome]) -> None:
        self._monitor = monitor
        self._sets: list[frozenset[_Possibility]] = []
        self._numbers: dict[frozenset[_Possibility], int] = {}
        self._known: dict[tuple[object, ...], int] = {}
        self._compared: dict[tuple[int, int], bool] = {}
        self.start = self._number(frozenset({(monitor.start, ())}))

    def begins(self, at: int, thread: int, call: int) -> int:
        """The set after the beginning of a call."""
        return self._mark((at, thread, call), thread, lambda state: self._monitor.invoked(state, call))

    def ends(self, at: int, thread: int, call: int, outcome: Outcome) -> int:
        """The set after the end of a call; :data:`WRONG` if something about the order of calls is."""
        key = (at, thread, call, outcome)
        return self._mark(key, thread, lambda state: self._monitor.returned(state, call, outcome))

    def floats(self, at: int, thread: int, call: int, outcome: Outcome) -> int:
        """The set after a call has begun to float."""
        if at == WRONG:
            return at
        return self._number(frozenset((state, (*open_, (thread, call, outcome))) for state, open_ in self._sets[at]))

    def is_as_strict(self, one: int, other: int) -> bool:
        """Whether whatever is :data:`WRONG` from ``other`` on is so from ``one`` on, too."""
        if one in (other, WRONG):
            return True
        if other == WRONG:
            return False
        found = self._compared.get((one, other))
        if found is None:
            found = self._compared[one, other] = all(
                any(mine == floating and self._monitor.is_as_strict(at, state) for at, mine in self._sets[one])
                for state, floating in self._sets[other]
            )
        return found

    def _mark(self, key: tuple[object, ...], thread: int, follow: Callable[[int], int]) -> int:
        at: int = key[0]  # type: ignore[assignment]
        if at == WRONG:
            return at
        known = self._known.get(key)
        if known is None:
            found = {
                (follow(state), floating)
                for state, floating in self._settled(self._sets[at])
                if state == IMPOSSIBLE or all(other != thread for other, _, _ in floating)
            }
            wrong = any(state == IMPOSSIBLE for state, _ in found)
            known = self._known[key] = WRONG if wrong else self._number(frozenset(found))
        return known

    def _settled(self, possibilities: frozenset[_Possibility]) -> Iterator[_Possibility]:
        """All possibilities after any of the floating calls have happened."""
        seen = set(possibilities)
        todo = list(possibilities)
        while todo:
            state, floating = todo.pop()
            yield state, floating
            threads = set()
            for position, (thread, call, outcome) in enumerate(floating):
                if thread in threads or state == IMPOSSIBLE:
                    continue
                threads.add(thread)
                after = self._monitor.returned(self._monitor.invoked(state, call), call, outcome)
                following = (after, floating[:position] + floating[position + 1 :])
                if following not in seen:
                    seen.add(following)
                    todo.append(following)

    def _number(self, possibilities: frozenset[_Possibility]) -> int:
        number = self._numbers.get(possibilities)
        if number is None:
            number = self._numbers[possibilities] = len(self._sets)
            self._sets.append(possibilities)
        return number
