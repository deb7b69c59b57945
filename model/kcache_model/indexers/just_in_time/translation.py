"""Translation of the calls of a history into reads and writes, with the conclusions from their stamps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...history import Call
from ..items import Semantics
from .contents import NEVER, Time, Version
from .known import KnownStore
from .lookahead import Upcoming
from .reads import Impossible, Read
from .translated_reads import READERS, ReadTranslation
from .translated_writes import WRITERS, WriteTranslation
from .writes import Write

PositionedCall = tuple[int, Call]
"""A call, and its position in the history."""


@dataclass(frozen=True)
class Window:
    """Consecutive calls of a history, translated into reads and writes.

    Attributes:
        begun: the calls in the order of their invocations, without the calls that have no effect and hold in any state.
        required: the versions whose writes began before the window and that are returned by reads that begin in it.
        upcoming: the times at which each key is written: complete until the last response of a call that began before
            the end of the window.
    """

    begun: Sequence[Read | Write]
    required: Sequence[Version]
    upcoming: Upcoming


class Translator:
    """Translator of a history, window by window; it keeps the versions that may still be in the store.

    Args:
        indexes: the names of the indices of the store, each once.
        semantics: the generation of client-go that defines the correct results.
        strict_errors: whether errors must be of the expected type.

    Attributes:
        store: the known indices and versions of the store.
    """

    def __init__(self, indexes: tuple[str, ...], semantics: Semantics, *, strict_errors: bool) -> None:
        self.store = KnownStore(indexes, semantics, strict_errors=strict_errors)
        self._writes = WriteTranslation(self.store)
        self._reads = ReadTranslation(self.store)
        self._ahead: dict[int, Write | Impossible | None] = {}
        self._horizon: Time = -NEVER

    def translate(self, calls: Sequence[PositionedCall], start: int, stop: int) -> Window:
        """Translate the calls from ``start`` to ``stop``; the calls before have been translated. O(number of calls).

        Args:
            calls: in the order of their invocations. From ``stop`` on, only the writes are translated that begin
                before all calls before ``stop`` have ended: reads before ``stop`` may return their versions.
            start: the index of the first call to translate.
            stop: the index after the last.

        Raises:
            Unsuitable: the checker cannot judge one of the operations.
        """
        window = calls[start:stop]
        ahead, horizon = self._ahead, self._horizon
        writes = self._writes
        begun: list[Read | Write | None] = [None] * len(window)
        reads: list[int] = []
        written: list[Write] = [write for write in ahead.values() if isinstance(write, Write)]
        for at, (position, call) in enumerate(window):
            returned = call.returned
            if returned is not None and returned > horizon:
                horizon = returned
            translate = WRITERS.get(call.operation.name)
            if translate is None:
                reads.append(at)
            elif position in ahead:
                begun[at] = ahead.pop(position)
            else:
                begun[at] = write = translate(writes, position, call)
                if isinstance(write, Write):
                    written.append(write)
        for at in range(stop, len(calls)):
            position, call = calls[at]
            if call.invoked > horizon:
                break
            translate = WRITERS.get(call.operation.name)
            if translate is not None and position not in ahead:
                write = ahead[position] = translate(writes, position, call)
                if isinstance(write, Write):
                    written.append(write)
        self._horizon = horizon
        required = self._look_back(window, reads, begun)
        self._writes.forget()
        self._reads.forget()
        return Window([call for call in begun if call is not None], required, Upcoming(written))

    def keep(self, versions: Iterable[Version]) -> None:
        """Forget all versions except ``versions`` and the versions of writes that have not begun."""
        self.store.keep((*versions, *self.ahead()))

    def ahead(self) -> list[Version]:
        """The versions of writes that have been translated in advance but have not begun."""
        return [version for write in self._ahead.values() if isinstance(write, Write) for version in write.versions()]

    def _look_back(
        self, window: Sequence[PositionedCall], reads: Iterable[int], begun: list[Read | Write | None]
    ) -> list[Version]:
        """Translate the reads into their places in ``begun``; return the versions written before the window.

        Only the versions that these reads returned are returned. Update ``seen_until`` and ``due`` of all versions that
        they returned.
        """
        begin = window[0][1].invoked
        required: list[Version] = []
        for at in reads:
            position, call = window[at]
            if call.outcome is None:
                continue
            begun[at] = read = READERS[call.operation.name](self._reads, position, call, call.outcome)
            if read is None:
                continue
            invoked, returned = read.invoked, read.returned
            for version in read.versions:
                if version.seen_until < begin and version.written < begin:
                    required.append(version)
                version.seen_until = invoked
                if returned < version.due:
                    version.due = returned
        return required
