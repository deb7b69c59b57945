"""The monitor, which follows a history call by call, against the search that has all of it."""

import random
from dataclasses import replace

import pytest

from kcache_model.history import Call
from kcache_model.indexers import operations as op
from kcache_model.indexers.indexer_model import IndexerModel
from kcache_model.indexers.items import Item, Semantics
from kcache_model.indexers.operations import WriteKind
from kcache_model.linearizability import SearchBudget
from kcache_model.linearizability.monitor import IMPOSSIBLE, Monitor
from kcache_model.linearizability.search import search_linearization
from kcache_model.outcomes import ErrorKind, raised, returned
from kcache_model.verdict import Status

KEYS, VALUES = ("a", "b"), ("n1", "n2")


def random_operation(rng, stamp):
    item = Item(rng.choice(KEYS), f"v{stamp}", {"node": tuple(rng.sample(VALUES, rng.randint(0, 2)))})
    return rng.choice(
        [
            op.add(item),
            op.update(item),
            op.delete(item),
            op.replace((item,) if rng.random() < 0.7 else ()),
            op.transaction((WriteKind.ADD, item), (WriteKind.DELETE, Item(rng.choice(KEYS), f"d{stamp}"))),
            op.get_by_key(rng.choice(KEYS)),
            op.list_objects(),
            op.list_keys(),
            op.index("node", item),
            op.by_index(rng.choice(("node", "node", "unknown")), rng.choice(VALUES)),
            op.list_index_func_values("node"),
            op.get_indexers(),
            op.add_indexers("late"),
        ]
    )


def spoiled(rng, outcome):
    stamps = tuple(sorted(rng.sample(["v0", "v1", "v2", "a"], rng.randint(0, 2))))
    return rng.choice([raised(ErrorKind.OTHER), returned(stamps), returned(None), returned("v1"), outcome])


def random_calls(rng, semantics):
    """Calls in random intervals with the outcomes of a random order; some spoiled, some pending."""
    size = rng.randint(1, 6)
    times = rng.sample(range(20), 2 * size) if rng.random() < 0.7 else [rng.randrange(8) for _ in range(2 * size)]
    model = IndexerModel(semantics)
    state = model.initial(("node",))
    intervals = [sorted(times[2 * number : 2 * number + 2]) for number in range(size)]
    effects = sorted(range(size), key=lambda number: rng.uniform(*intervals[number]))
    calls = {}
    for number in effects:
        operation = random_operation(rng, number)
        state, outcome = model.apply(state, operation)
        calls[number] = Call(number, operation, *intervals[number], outcome)
    for number, call in calls.items():
        roll = rng.random()
        if roll < 0.12:
            calls[number] = replace(call, outcome=spoiled(rng, call.outcome))
        elif roll < 0.25:
            calls[number] = replace(call, returned=None, outcome=None)
    return [calls[number] for number in range(size)]


def effects_of(model):
    return lambda state, operation: (model.apply(state, operation),)


def followed(monitor, calls):
    """The set of configurations after all beginnings and ends; at one tick, the beginnings come first."""
    marks = [(call.invoked, 0, number) for number, call in enumerate(calls)]
    marks += [(call.returned, 1, number) for number, call in enumerate(calls) if call.returned is not None]
    at = monitor.start
    for _, is_end, number in sorted(marks):
        at = monitor.returned(at, number, calls[number].outcome) if is_end else monitor.invoked(at, number)
    return at


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(6))
def test_the_monitor_agrees_with_the_search(seed):
    rng = random.Random(seed)
    verdicts = {True: 0, False: 0}
    for _ in range(700):
        semantics = rng.choice(list(Semantics))
        model = IndexerModel(semantics)
        initial = model.initial(("node",))
        calls = random_calls(rng, semantics)
        agrees = lambda observed, expected: observed.agrees_with(expected)  # noqa: E731
        monitor = Monitor(effects_of(model), initial, [call.operation for call in calls], agrees)
        found = search_linearization(model, initial, calls, SearchBudget(), agrees)
        is_possible = followed(monitor, calls) != IMPOSSIBLE
        verdicts[is_possible] += 1
        assert is_possible == (found.status is Status.OK), calls
    assert min(verdicts.values()) > 50, "the histories must be of both kinds"


@pytest.mark.parametrize("seed", range(2))
def test_the_states_are_those_that_orders_of_the_calls_lead_to(seed):
    """With a read of everything appended, each state and no other explains what is read."""
    rng = random.Random(seed)
    several = 0
    for _ in range(300):
        model = IndexerModel(Semantics.CLASSIC)
        initial = model.initial(("node",))
        calls = [call for call in random_calls(rng, Semantics.CLASSIC) if call.returned is not None]
        agrees = lambda observed, expected: observed.agrees_with(expected)  # noqa: E731
        monitor = Monitor(effects_of(model), initial, [call.operation for call in calls], agrees)
        states = monitor.states(followed(monitor, calls))
        several += len(set(states)) > 1
        read = op.list_objects()
        seen = {model.apply(state, read)[1] for state in states}
        for outcome in seen | {returned(("v0",)), returned(())}:
            later = Call(9, read, 100, 101, outcome)
            found = search_linearization(model, initial, [*calls, later], SearchBudget(), agrees)
            assert (found.status is Status.OK) == any(agrees(outcome, other) for other in seen)
    assert several > 20


def test_a_monitor_remembers_nothing_of_one_history_in_the_next():
    """One monitor serves all executions of a program: each of them must get the verdict that a new one gives."""
    rng = random.Random(7)
    model = IndexerModel(Semantics.CLASSIC)
    initial = model.initial(("node",))
    agrees = lambda observed, expected: observed.agrees_with(expected)  # noqa: E731
    for _ in range(40):
        calls = random_calls(rng, Semantics.CLASSIC)
        operations = [call.operation for call in calls]
        shared = Monitor(effects_of(model), initial, operations, agrees)
        for _ in range(20):
            other = []
            for call in calls:
                begin, end = sorted(rng.sample(range(30), 2))
                outcome = spoiled(rng, call.outcome) if rng.random() < 0.2 else call.outcome
                other.append(replace(call, invoked=begin, returned=None if outcome is None else end, outcome=outcome))
            fresh = Monitor(effects_of(model), initial, operations, agrees)
            assert (followed(shared, other) == IMPOSSIBLE) == (followed(fresh, other) == IMPOSSIBLE)


def test_what_is_impossible_stays_impossible():
    model = IndexerModel(Semantics.CLASSIC)
    calls = [op.get_by_key("a"), op.add(Item("a", "v1"))]
    monitor = Monitor(
        effects_of(model), model.initial(()), calls, lambda observed, expected: observed.agrees_with(expected)
    )
    at = monitor.returned(monitor.invoked(monitor.start, 0), 0, returned("v1"))
    assert at == IMPOSSIBLE
    assert monitor.invoked(at, 1) == IMPOSSIBLE
    assert monitor.returned(at, 1, returned()) == IMPOSSIBLE
    assert monitor.states(at) == []


def test_a_specification_may_leave_things_open_or_let_a_call_wait():
    def effects(state, operation):  # a box that gives any of its things, and has a taker wait for one
        if operation == "take":
            return [(state - {thing}, thing) for thing in sorted(state)]
        return [(state | {operation}, "put")]

    monitor = Monitor(effects, frozenset(), ["a", "b", "take", "take"], lambda observed, expected: observed == expected)
    waiting = monitor.invoked(monitor.start, 2)
    assert monitor.returned(waiting, 2, "a") == IMPOSSIBLE
    filled = monitor.returned(monitor.invoked(waiting, 0), 0, "put")
    filled = monitor.returned(monitor.invoked(filled, 1), 1, "put")
    for taken, left in ("ab", "ba"):
        after = monitor.returned(filled, 2, taken)
        assert frozenset(left) in monitor.states(after)
        second = monitor.invoked(after, 3)
        assert monitor.returned(second, 3, left) != IMPOSSIBLE
        assert monitor.returned(second, 3, taken) == IMPOSSIBLE
