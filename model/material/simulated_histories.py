"""Random histories, for tests of checkers: small, of all operations, some of them impossible."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Final

from kcache_model.history import FINAL_THREAD, PREFIX_THREAD, Call
from kcache_model.indexers import operations as op
from kcache_model.indexers.indexer_model import IndexerModel, State
from kcache_model.indexers.items import Item, Semantics
from kcache_model.indexers.operations import Operation, WriteKind
from kcache_model.indexers.program import History
from kcache_model.outcomes import ErrorKind, Outcome, raised, returned

INDEXES: Final = ("node", "zone")
"""The indices of the simulated store."""

_VALUES: Final = {"node": ("n1", "n2"), "zone": ("z1", "z2", "z3")}
_MODELS: Final = {semantics: IndexerModel(semantics) for semantics in Semantics}


class Simulator:
    """Makes random histories: random operations in random intervals, on a store that may have a fault.

    The store is the model; each call takes effect at some moment of its interval. With a fault, some reads look at an
    older state or at a mixture of two, some writes are lost, and some outcomes are spoiled.
    """

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._stamps = 0

    def history(self) -> History:
        """A history of 3 to 8 calls in 2 to 4 threads, some before and some after these."""
        rng = self._rng
        self._open_a_store()
        threads, size = rng.randint(2, 4), rng.randint(3, 8)
        calls = [self._alone(PREFIX_THREAD) for _ in range(rng.choice((0, 0, 1)))]
        calls += self._concurrent(threads, size)
        calls += [self._alone(FINAL_THREAD) for _ in range(rng.choice((0, 0, 1)))]
        return self._finished(calls)

    def stretches(self, count: int) -> History:
        """A few calls at the same time, then a few more, and so on: only the last calls may be pending."""
        self._open_a_store()
        self._faults /= 3
        calls: list[Call] = []
        while len(calls) < 2 * count:
            calls = [call for call in calls if call.returned is not None]
            self._tick += 1
            calls += self._concurrent(3, self._rng.randint(2, 4))
        return self._finished(calls)

    def busy(self, threads: int, size: int) -> History:
        """A long history in which all threads are busy all the time; if the store has faults, they are few."""
        self._open_a_store()
        self._faults /= 10
        return self._finished(self._concurrent(threads, size))

    def correct(self, threads: int, size: int) -> History:
        """A history of a store without faults."""
        self._open_a_store()
        self._faults, self._wide = 0.0, 0.05
        return self._finished(self._concurrent(threads, size))

    def _finished(self, calls: list[Call]) -> History:
        calls.sort(key=lambda call: call.invoked)
        if self._faults and self._rng.random() < 0.5:
            self._swap_outcomes(calls)
        return History(INDEXES, tuple(calls), self._model.semantics)

    def _open_a_store(self) -> None:
        rng = self._rng
        self._stamps = 0
        self._keys = ("a", "b", "c")[: rng.choice((1, 2, 2, 3))]
        self._writes = rng.choice((0.3, 0.5, 0.5, 0.7))
        self._wide = rng.choice((0.0, 0.1, 0.4))
        self._odd = rng.random() < 0.3
        self._favourites = rng.choice((None, None, "keys", "values", "objects"))
        self._faults = rng.choice((0.0, 0.3, 0.5, 0.8))
        self._model = _MODELS[rng.choice(tuple(Semantics))]
        self._states = [self._model.initial(INDEXES)]
        self._tick = 0

    def _alone(self, thread: int) -> Call:
        operation = self._operation()
        begin, end = self._tick + 1, self._tick + 2
        self._tick = end
        return Call(thread, operation, begin, end, self._effect(operation))

    def _concurrent(self, threads: int, size: int) -> list[Call]:
        rng = self._rng
        calls: list[Call] = []
        running: dict[int, tuple[Operation, int, Outcome | None]] = {}
        hurry = rng.choice((0.3, 0.5, 0.8))
        self._tick += 1
        left = size
        while left or running:
            self._tick += rng.random() < 0.9
            thread = rng.randrange(threads)
            if thread not in running:
                if left:
                    left -= 1
                    running[thread] = (self._operation(), self._tick, None)
                continue
            operation, begin, outcome = running[thread]
            if outcome is None:
                if rng.random() < hurry:
                    running[thread] = (operation, begin, self._effect(operation))
            elif rng.random() < hurry:
                del running[thread]
                calls.append(Call(thread, operation, begin, self._tick, outcome))
            if not left and running and rng.random() < 0.04:
                thread, (operation, begin, _) = running.popitem()
                calls.append(Call(thread, operation, begin, None, None))
        return calls

    def _effect(self, operation: Operation) -> Outcome:
        rng, state = self._rng, self._states[-1]
        fault = rng.random() < self._faults
        if operation.is_write:
            after, outcome = self._model.apply(state, operation)
            if fault and rng.random() < 0.5:
                after = self._mixture(state, after)
            self._states.append(after)
            return rng.choice((raised(ErrorKind.OTHER), returned("a"))) if fault and rng.random() < 0.1 else outcome
        if fault:
            older = rng.choice(self._states[-4:])
            state = self._mixture(older, state) if rng.random() < 0.5 else older
        _, outcome = self._model.apply(state, operation)
        return self._spoiled(outcome) if fault and rng.random() < 0.2 else outcome

    def _mixture(self, old: State, new: State) -> State:
        """Some keys as they were, as after a torn replace, a lost update or an undone deletion."""
        stored = dict(new.stored)
        for key in self._keys:
            if self._rng.random() < 0.5:
                stored.pop(key, None)
                if key in old.stored:
                    stored[key] = old.stored[key]
        return replace(new, stored=stored)

    def _spoiled(self, outcome: Outcome) -> Outcome:
        rng = self._rng
        stamps = tuple(sorted(rng.sample([f"v{number}" for number in range(self._stamps + 1)], 1)))
        value = outcome.value
        fewer = value[1:] if isinstance(value, tuple) else None
        return rng.choice(
            [
                raised(ErrorKind.OTHER),
                returned(stamps),
                returned(fewer),
                returned("v1"),
                returned(("n1",)),
                returned(("b", "a")),
                returned(("v1", "v1")),
                returned(),
            ]
        )

    def _swap_outcomes(self, calls: list[Call]) -> None:
        reads = [number for number, call in enumerate(calls) if call.outcome and not call.operation.is_write]
        if len(reads) > 1:
            one, other = self._rng.sample(reads, 2)
            if calls[one].operation.name == calls[other].operation.name:
                outcomes = calls[one].outcome, calls[other].outcome
                calls[one] = replace(calls[one], outcome=outcomes[1])
                calls[other] = replace(calls[other], outcome=outcomes[0])

    def _item(self) -> Item:
        rng = self._rng
        self._stamps += 1
        zones = tuple([zone for zone in _VALUES["zone"] if rng.random() < 0.4])
        values: dict[str, tuple[str, ...] | None] = {"node": (rng.choice(_VALUES["node"]),), "zone": zones}
        key: str | None = rng.choice(self._keys)
        if self._odd and rng.random() < 0.2:
            key = rng.choice((None, key))
            odd: tuple[dict[str, tuple[str, ...] | None], ...] = (
                {},
                {"node": None},
                {"node": ("n1", "n1"), "zone": ()},
            )
            values = rng.choice(odd)
        return Item(key, f"v{self._stamps}", values)

    def _operation(self) -> Operation:
        rng = self._rng
        if rng.random() >= self._writes:
            return self._read()
        if rng.random() >= self._wide:
            roll = rng.random()
            return op.delete(self._item()) if roll < 0.35 else (op.add if roll < 0.6 else op.update)(self._item())
        if rng.random() < 0.5:
            return op.replace(tuple([self._item() for _ in range(rng.randint(0, 3))]))
        entries = [(rng.choice(tuple(WriteKind)), self._item()) for _ in range(rng.randint(0, 3))]
        return op.transaction(*entries)

    def _read(self) -> Operation:
        rng = self._rng
        index = rng.choice(INDEXES)
        if self._odd and rng.random() < 0.15:
            return rng.choice(
                [
                    op.resync(),
                    op.get_indexers(),
                    op.add_indexers("node"),
                    op.bookmark("7"),
                    op.by_index("unknown", "n1"),
                    op.index_keys("unknown", "n1"),
                    op.list_index_func_values("unknown"),
                    op.index("unknown", self._item()),
                ]
            )
        groups = {
            None: ("get", "get_by_key", "list", "list_keys", "index", "index_keys", "by_index", "values"),
            "keys": ("list_keys", "index_keys", "get_by_key"),
            "values": ("values", "values", "index_keys", "list_keys"),
            "objects": ("list", "by_index", "index"),
        }
        name = rng.choice(groups[self._favourites])
        if name == "get_by_key":
            return op.get_by_key(rng.choice(self._keys))
        if name == "list":
            return op.list_objects()
        if name == "list_keys":
            return op.list_keys()
        if name == "values":
            return op.list_index_func_values(index)
        if name == "by_index":
            return op.by_index(index, rng.choice(_VALUES[index]))
        if name == "index_keys":
            return op.index_keys(index, rng.choice(_VALUES[index]))
        return op.index(index, self._item()) if name == "index" else op.get(self._item())
