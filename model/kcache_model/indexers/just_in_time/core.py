"""Small core of a history that no order explains: a few of its calls that no order explains either."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from ...history import Call
from ...linearizability.budget import SearchBudget
from ...verdict import Status
from .. import operations as op
from ..items import Item
from ..program import History
from .contents import ABSENT, Term, Version
from .judgement import judge_history
from .reads import Get, KeysRead, Read, ValuesRead
from .translation import Translator
from .writes import Replace, Write

_SHORTEST: Final = 16
"""Number of the last calls that are tried first; then four times as many, and so on."""

_ONE_ATTEMPT: Final = SearchBudget(seconds=1.0, steps=5_000)


def small_core(history: History, position: int, *, strict_errors: bool = False, seconds: float = 5.0) -> list[Call]:
    """Return calls that no order explains even if every other write may or may not have happened.

    First, the number of the last calls before the violation is increased until no order explains them; then as many of
    these as possible are left out: halves, quarters, ..., single calls. Unless the time ran out, or a check did not
    finish, no single call of the result can be left out.

    Args:
        history: the history, which has no linearization.
        position: the position of its first call that no order explains.
        strict_errors: require kcache's error types.
        seconds: limit of wall-clock time; then the smallest core so far is returned.
    """
    part = _Part(history, position, strict_errors=strict_errors)
    deadline = time.monotonic() + seconds
    before = part.returned[:-1]
    for candidate in _last_calls(before, history, history.calls[position]):
        if time.monotonic() > deadline:
            break
        if part.is_impossible([*candidate, position]):
            before = candidate
            break
    length = max(1, len(before) // 2)
    start, is_minimal = 0, not before
    while not is_minimal and time.monotonic() < deadline:
        rest = [*before[:start], *before[start + length :]]
        if part.is_impossible([*rest, position]):
            before = rest
        else:
            start += length
        if start >= len(before):
            is_minimal = length == 1
            start, length = 0, max(1, length // 2)
    return sorted([history.calls[at] for at in (*before, position)], key=_invocation)


def _last_calls(positions: Sequence[int], history: History, last: Call) -> Iterator[list[int]]:
    """Yield more and more of the last positions; each time first with few reads, which is far faster to judge.

    If ``last`` is a read, the writes alone often contradict it. If it is a write, it contradicts concurrent reads.
    """
    taken = _SHORTEST
    while taken < 4 * len(positions):
        candidate = list(positions[-taken:])
        yield [position for position in candidate if _may_matter(history.calls[position], last)]
        if taken < len(positions):
            yield candidate
        taken *= 4


def _may_matter(call: Call, last: Call) -> bool:
    return call.operation.is_write or (last.operation.is_write and not call.precedes(last))


class _Part:
    """The history up to the response of the violating call, and parts of it; later responses are left open.

    Attributes:
        returned: the positions of the calls that had returned, in the order of their responses.
    """

    def __init__(self, history: History, position: int, *, strict_errors: bool) -> None:
        self._history = history
        self._strict_errors = strict_errors
        end = history.calls[position].returned or 0
        calls = sorted(enumerate(history.calls), key=lambda positioned: positioned[1].invoked)
        self._calls = {
            at: call
            if call.returned is not None and call.returned <= end
            else replace(call, returned=None, outcome=None)
            for at, call in calls
            if call.invoked <= end
        }
        returned = [
            (call.returned, at == position, at) for at, call in self._calls.items() if call.returned is not None
        ]
        self.returned = [at for _, _, at in sorted(returned)]
        self._items = {item.stamp: item for call in self._calls.values() for item in call.operation.written}
        translator = Translator(tuple(sorted(set(history.indexes))), history.semantics, strict_errors=strict_errors)
        window = translator.translate(list(self._calls.items()), 0, len(self._calls))
        self._reads = {call.position: call for call in window.begun if isinstance(call, Read)}
        self._writes = {call.position: call for call in window.begun if isinstance(call, Write)}
        self._alike = self._grouped()

    def is_impossible(self, positions: Sequence[int]) -> bool:
        """Whether no order explains the calls at ``positions``, even if other writes may take effect."""
        calls = [*[self._calls[at] for at in positions], *self._helpful(frozenset(positions))]
        history = replace(self._history, calls=tuple(sorted(calls, key=_invocation)))
        result = judge_history(history, strict_errors=self._strict_errors, budget=_ONE_ATTEMPT)
        return result.status is Status.VIOLATION

    def _grouped(self) -> dict[tuple[str, bool, tuple[Term, ...]], list[tuple[int, Version]]]:
        """Positions and versions of writes to a key, grouped if reads that return neither cannot distinguish them."""
        keys = {key for write in self._writes.values() for key, _ in write.effects()}
        alike = defaultdict(list)
        for at, write in self._writes.items():
            effects = dict(write.effects())
            if isinstance(write, Replace):
                effects = {key: effects.get(key, ABSENT) for key in keys}
            for key, version in effects.items():
                alike[key, version is ABSENT, version.terms].append((at, version))
        return alike

    def _helpful(self, positions: frozenset[int]) -> list[Call]:
        """Writes that the kept reads may need besides the kept writes, as pending calls that set one key each.

        A write of several keys becomes several writes, which explain everything that it explains. The writes suffice
        whose versions a kept read returned; and of each group of alike writes that some read allows, as many unseen
        writes as there are kept reads. In a group, the writes that began first explain the most.
        """
        reads = [self._reads[at] for at in positions if at in self._reads]
        returned = {version for read in reads for version in read.versions}
        keys = {version.key for version in returned}
        keys.update(key for at in positions if at in self._writes for key, _ in self._writes[at].effects())
        all_keys = any(isinstance(read, KeysRead | ValuesRead) for read in reads)
        versions: dict[tuple[int, str], Version] = {}
        for (key, _, _), group in self._alike.items():
            others = [(at, version) for at, version in group if at not in positions]
            for at, version in others:
                if version in returned:
                    versions[at, key] = version
            unseen = [
                (at, version) for at, version in islice(others, len(reads) + len(returned)) if version not in returned
            ]
            if unseen and (all_keys or key in keys) and _is_allowed(key, unseen[0][1], reads):
                versions.update({(at, key): version for at, version in unseen[: len(reads)]})
        return [self._optional(at, key, version) for (at, key), version in versions.items()]

    def _optional(self, at: int, key: str, version: Version) -> Call:
        operation = op.delete(Item(key, "")) if version is ABSENT else op.add(self._items[version.stamp])
        return Call(self._calls[at].thread, operation, self._calls[at].invoked, None, None)


def _is_allowed(key: str, version: Version, reads: Sequence[Read]) -> bool:
    """Whether some read that looks at ``key`` and returned no version for it allows ``version`` there."""
    return any(
        read.expected(key) is None and read.allows(key, version) and not (isinstance(read, Get) and read.key != key)
        for read in reads
    )


def _invocation(call: Call) -> int:
    return call.invoked
