"""From the calls of a history to reads and writes, with what the stamps tell about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from ...history import Call
from ...indexer_model import IndexerModel
from ...items import Item, Semantics
from ...operations import WRITES, Operation, OperationName, WriteKind
from ...outcomes import ErrorKind, Outcome, raised
from .contents import ABSENT, NEVER, Term, Time, Version
from .lookahead import Upcoming
from .reads import EVERYTHING, Get, Impossible, KeysRead, ObjectsRead, Read, Selection, Under, UnderAny, ValuesRead
from .suitability import Unsuitable, why_not_operation
from .window import PositionedCall, Window
from .writes import Put, Replace, Transaction, Write


class Translator:
    """Translates one window after the other, and knows the versions that may still be in the store.

    Args:
        indexes: the names of the indices of the store, each once.
        semantics: which generation of client-go decides.
        strict_errors: whether an error must be of the type that is due.
    """

    def __init__(self, indexes: tuple[str, ...], semantics: Semantics, *, strict_errors: bool) -> None:
        self._indexes = indexes
        self._index_set = frozenset(indexes)
        self._semantics = semantics
        self._strict_errors = strict_errors
        self._model = IndexerModel(semantics)
        self._empty = self._model.initial(self._indexes)
        self._known: dict[str, Version] = {}
        self._foreseen: dict[str, Version] = {}
        self._ahead: dict[int, Write | Impossible | None] = {}
        self._horizon: Time = -NEVER

    def translate(self, calls: Sequence[PositionedCall], start: int, stop: int) -> Window:
        """The calls from ``start`` to ``stop``, those before having been translated. O(number of calls looked at).

        Args:
            calls: in the order of their invocations. Of those after ``stop``, only the writes are looked at that
                begin before all calls in front of ``stop`` have ended: reads among these may return them.
            start: the index of the first call to translate.
            stop: the index behind the last.

        Raises:
            Unsuitable: there is an operation among them that the checker cannot judge.
        """
        window = calls[start:stop]
        ahead, horizon = self._ahead, self._horizon
        for position, call in window:
            if call.operation.name in WRITES and position not in ahead:
                ahead[position] = self._write(position, call)
            if call.returned is not None and call.returned > horizon:
                horizon = call.returned
        for position, call in islice(calls, stop, None):
            if call.invoked > horizon:
                break
            if call.operation.name in WRITES and position not in ahead:
                ahead[position] = self._write(position, call)
        self._horizon = horizon
        upcoming = Upcoming([write for write in ahead.values() if isinstance(write, Write)])
        begun: list[Read | Write] = []
        recalled: dict[Version, None] = {}
        begin = window[0][1].invoked
        for position, call in window:
            if call.operation.name in WRITES:
                write = ahead.pop(position)
                if write is not None:
                    begun.append(write)
            elif call.outcome is not None:
                translated = self._read(position, call, call.outcome)
                if translated is None:
                    continue
                begun.append(translated)
                for version in translated.versions():
                    version.seen_until = translated.invoked
                    if translated.returned < version.due:
                        version.due = translated.returned
                    if version.written < begin:
                        recalled[version] = None
        return Window(begun, list(recalled), upcoming)

    def keep(self, versions: Iterable[Version]) -> None:
        """Forget all versions but these, and those of writes that have not begun."""
        self._known = {version.stamp: version for version in (*versions, *self.ahead())}

    def ahead(self) -> list[Version]:
        """The versions of writes that were looked at but have not begun."""
        return [version for write in self._ahead.values() if isinstance(write, Write) for version in write.versions()]

    def foresee(self, versions: Iterable[Version]) -> None:
        """These are the versions of writes to come: reads that are open may have returned them."""
        self._foreseen = {version.stamp: version for version in versions}

    @property
    def remembered(self) -> int:
        """How many versions are known."""
        return len(self._known)

    def _write(self, position: int, call: Call) -> Write | Impossible | None:
        returned = NEVER if call.returned is None else call.returned
        match call.operation.name:
            case OperationName.ADD | OperationName.UPDATE:
                item = _given(call.operation)
                terms = self._terms(item)
                if item.key is None or terms is None:
                    return self._constant(position, call)
                if not _succeeded(call.outcome):
                    return Impossible(position, call.invoked, returned)
                version = self._new_version(item.key, item, terms, call.invoked, returned)
                return Put(position, call.invoked, returned, item.key, version)
            case OperationName.DELETE:
                key = _given(call.operation).key
                if key is None:
                    return self._constant(position, call)
                if not _succeeded(call.outcome):
                    return Impossible(position, call.invoked, returned)
                return Put(position, call.invoked, returned, key, ABSENT)
            case OperationName.REPLACE:
                return self._replace(position, call, returned)
            case OperationName.TRANSACTION:
                return self._transaction(position, call, returned)
            case _:
                return self._constant(position, call)

    def _replace(self, position: int, call: Call, returned: Time) -> Write | Impossible | None:
        last_of_key: dict[str, tuple[Item, tuple[Term, ...]]] = {}
        for key, item in {item.key: item for item in call.operation.items}.items():
            terms = self._terms(item)
            if key is None or terms is None:
                return self._constant(position, call)
            last_of_key[key] = item, terms
        if not _succeeded(call.outcome):
            return Impossible(position, call.invoked, returned)
        effect = {
            key: self._new_version(key, item, terms, call.invoked, returned)
            for key, (item, terms) in last_of_key.items()
        }
        return Replace(position, call.invoked, returned, effect, self._indexes)

    def _transaction(self, position: int, call: Call, returned: Time) -> Write | Impossible | None:
        last_of_key: dict[str, tuple[Item, tuple[Term, ...]] | None] = {}
        failed = False
        for kind, item in call.operation.entries:
            terms = () if kind is WriteKind.DELETE else self._terms(item)
            if item.key is None or terms is None:
                failed = True
            else:
                last_of_key[item.key] = None if kind is WriteKind.DELETE else (item, terms)
        if not last_of_key:
            return self._constant(position, call)
        expected = raised(ErrorKind.TRANSACTION) if failed else Outcome()
        if call.outcome is not None and not call.outcome.agrees_with(expected, strict_errors=self._strict_errors):
            return Impossible(position, call.invoked, returned)
        effect = {
            key: ABSENT if put is None else self._new_version(key, *put, call.invoked, returned)
            for key, put in last_of_key.items()
        }
        if len(effect) == 1:
            return Put(position, call.invoked, returned, *effect.popitem())
        return Transaction(position, call.invoked, returned, effect)

    def _new_version(self, key: str, item: Item, terms: tuple[Term, ...], written: Time, returned: Time) -> Version:
        if item.stamp in self._known:
            raise Unsuitable(f"the stamp {item.stamp!r} is written twice")
        version = self._foreseen.pop(item.stamp, None) or Version(key, item.stamp, terms, written, returned)
        self._known[item.stamp] = version
        return version

    def _constant(self, position: int, call: Call) -> Impossible | None:
        """A call that has no effect, and the same outcome in all states."""
        reason = why_not_operation(call.operation, self._index_set, self._semantics, strict_errors=self._strict_errors)
        if reason:
            raise Unsuitable(reason)
        _, expected = self._model.apply(self._empty, call.operation)
        if call.outcome is None or call.outcome.agrees_with(expected, strict_errors=self._strict_errors):
            return None
        assert call.returned is not None
        return Impossible(position, call.invoked, call.returned)

    def _read(self, position: int, call: Call, outcome: Outcome) -> Read | None:
        operation, indexes = call.operation, self._index_set
        match operation.name:
            case OperationName.GET_BY_KEY:
                return self._get(position, call, outcome, operation.key or "")
            case OperationName.BY_INDEX if operation.index in indexes:
                return self._objects(position, call, outcome, Under((operation.index, operation.value or "")))
            case OperationName.INDEX_KEYS if operation.index in indexes:
                return _keys(position, call, outcome, Under((operation.index, operation.value or "")))
            case OperationName.LIST:
                return self._objects(position, call, outcome, EVERYTHING)
            case OperationName.LIST_KEYS:
                return _keys(position, call, outcome, EVERYTHING)
            case OperationName.GET if _given(operation).key is not None:
                return self._get(position, call, outcome, _given(operation).key or "")
            case OperationName.INDEX if operation.index in indexes:
                values = _given(operation).values.get(operation.index, ())
                if not values:
                    return self._constant(position, call)
                terms = tuple([(operation.index, value) for value in values])
                return self._objects(position, call, outcome, UnderAny(terms))
            case OperationName.LIST_INDEX_FUNC_VALUES if operation.index in indexes:
                found = _distinct(outcome)
                if found is None:
                    return Impossible(position, *_interval(call))
                return ValuesRead(position, *_interval(call), operation.index, found)
            case _:
                return self._constant(position, call)

    def _get(self, position: int, call: Call, outcome: Outcome, key: str) -> Read:
        invoked, returned = _interval(call)
        version = ABSENT
        if outcome.value is not None:
            found = self._known.get(outcome.value) if isinstance(outcome.value, str) else None
            if found is None or found.key != key or found.written > returned:
                return Impossible(position, invoked, returned)
            version = found
        if outcome.error is not None:
            return Impossible(position, invoked, returned)
        return Get(position, invoked, returned, key, version)

    def _objects(self, position: int, call: Call, outcome: Outcome, selection: Selection) -> Read:
        invoked, returned = _interval(call)
        stamps = _distinct(outcome)
        if stamps is None:
            return Impossible(position, invoked, returned)
        known, found = self._known, {}
        for stamp in stamps:
            version = known.get(stamp)
            if version is None or version.written > returned or not selection.takes(version):
                return Impossible(position, invoked, returned)
            found[version.key] = version
        if len(found) < len(stamps):
            return Impossible(position, invoked, returned)
        return ObjectsRead(position, invoked, returned, selection, found)

    def _terms(self, item: Item) -> tuple[Term, ...] | None:
        """The index values of ``item``; ``None`` if an index function fails."""
        terms: dict[Term, None] = {}
        for name in self._indexes:
            values = item.values.get(name, ())
            if values is None:
                return None
            for value in values:
                terms[name, value] = None
        return tuple(terms)


def _given(operation: Operation) -> Item:
    assert operation.item is not None, f"{operation.name} needs an item"
    return operation.item


def _succeeded(outcome: Outcome | None) -> bool:
    """Whether a write that cannot fail gave what it should; a pending call gave nothing."""
    return outcome is None or (outcome.value is None and outcome.error is None)


def _interval(call: Call) -> tuple[Time, Time]:
    return call.invoked, NEVER if call.returned is None else call.returned


def _keys(position: int, call: Call, outcome: Outcome, selection: Selection) -> Read:
    keys = _distinct(outcome)
    if keys is None:
        return Impossible(position, *_interval(call))
    return KeysRead(position, *_interval(call), selection, keys)


def _distinct(outcome: Outcome) -> frozenset[str] | None:
    """What a call returned, if it is sorted and each is there once, as it must be."""
    value = outcome.value
    if outcome.error is not None or not isinstance(value, tuple):
        return None
    distinct = frozenset(value)
    return distinct if len(distinct) == len(value) and list(value) == sorted(value) else None
