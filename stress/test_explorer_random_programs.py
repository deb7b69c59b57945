"""Random programs of the explorer: they hit what goes wrong in practice."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

import kcache
from kcache_model.bound import parse_bound
from kcache_model.indexers.items import Semantics
from kcache_model.indexers.operations import OPTIONAL_OPERATIONS, Operation, OperationName
from kcache_model.indexers.program import Program
from kcache_model.indexers.target import Target, make_target
from kcache_stress.indexers.programs.footprints import some_calls_meet
from kcache_stress.indexers.programs.random_programs import ExplorerShape, explorer_program
from kcache_stress.indexers.programs.small_scope import count_small_scope, small_scope_programs

REFERENCE = make_target(kcache.new_indexer, "reference")
PLAIN_STORE = make_target(kcache.new_indexer, "store", ["indexes"])


def only(*names: OperationName) -> Target:
    return make_target(kcache.new_indexer, "few", [name.value for name in OperationName if name not in names])


SEEDS = range(1_000)
LOOKUPS = {OperationName.BY_INDEX, OperationName.INDEX, OperationName.INDEX_KEYS}
PUTS = {OperationName.ADD, OperationName.UPDATE}
CHANGES = PUTS | {OperationName.DELETE, OperationName.REPLACE, OperationName.TRANSACTION}
CONTENT = {OperationName.LIST, OperationName.LIST_KEYS}
GETS = {OperationName.GET, OperationName.GET_BY_KEY}


@functools.cache
def drawn() -> list[Program]:
    return [explorer_program(seed, REFERENCE, Semantics.CLASSIC) for seed in SEEDS]


def share(is_hit: Callable[[Program], bool]) -> float:
    found = drawn()
    return sum(map(is_hit, found)) / len(found)


def pairs(program: Program) -> Iterator[tuple[Operation, Operation]]:
    """All pairs of calls of different threads."""
    for one, two in itertools.permutations(program.threads, 2):
        yield from itertools.product(one, two)


def meeting(first: set[OperationName], second: set[OperationName]) -> Callable[[Program], bool]:
    """Whether a call of the first kind and one of the second, in different threads, are about the same thing."""

    def is_hit(program: Program) -> bool:
        return any(
            one.name in first and two.name in second and some_calls_meet(replace(program, threads=((one,), (two,))))
            for one, two in pairs(program)
        )

    return is_hit


def overwriting(program: Program) -> bool:
    """A stored object is written over while another thread reads it: unlocked_get, update_removes_first."""
    stored = {item.key for operation in program.prefix for item in operation.written}
    return any(
        one.name in PUTS and one.given[0].key in stored and two.name in LOOKUPS | CONTENT | GETS
        for one, two in pairs(program)
        if some_calls_meet(replace(program, threads=((one,), (two,))))
    )


def sharing(program: Program) -> bool:
    """Two threads write different keys under one value: striped_locks."""
    return any(
        first.key != second.key and set(first.values.get("node") or ()) & set(second.values.get("node") or ())
        for one, two in pairs(program)
        for first, second in itertools.product(one.written, two.written)
    )


def repeating(program: Program) -> bool:
    """A thread gets one key twice while another thread writes it: per_thread_cache."""
    return meeting({OperationName.GET_BY_KEY}, CHANGES)(program) and any(
        thread.count(operation) > 1
        for thread in program.threads
        for operation in thread
        if operation.name is OperationName.GET_BY_KEY
    )


@pytest.mark.parametrize(
    ("is_hit", "least"),
    [
        pytest.param(meeting(LOOKUPS, CHANGES), 0.2, id="lookup and write: leaky and torn locks, locks in two orders"),
        pytest.param(meeting({OperationName.BY_INDEX}, CHANGES), 0.1, id="by_index and write: lookup_in_two_steps"),
        pytest.param(meeting(CHANGES, CHANGES), 0.35, id="two writes: snapshot_without_lock, update_outside_lock"),
        pytest.param(meeting(CONTENT, CHANGES), 0.12, id="list and write: unlocked_list"),
        pytest.param(
            meeting({OperationName.LIST_INDEX_FUNC_VALUES}, CHANGES), 0.06, id="values and write: unlocked_index_values"
        ),
        pytest.param(
            meeting({OperationName.REPLACE}, LOOKUPS | CONTENT | GETS),
            0.08,
            id="replace and read: replace_clears_first",
        ),
        pytest.param(
            meeting({OperationName.REPLACE}, LOOKUPS | {OperationName.LIST_INDEX_FUNC_VALUES}),
            0.04,
            id="replace and lookup: replace_in_two_sections",
        ),
        pytest.param(meeting({OperationName.REPLACE}, CHANGES), 0.12, id="replace and write: replace_in_two_sections"),
        pytest.param(
            meeting({OperationName.TRANSACTION}, CHANGES | LOOKUPS | CONTENT | GETS), 0.08, id="transaction and another"
        ),
        pytest.param(
            meeting({OperationName.ADD_INDEXERS}, {OperationName.GET_INDEXERS, OperationName.ADD_INDEXERS, *CHANGES}),
            0.06,
            id="add_indexers and another: unlocked_indexers",
        ),
        pytest.param(overwriting, 0.2, id="overwriting what is read: unlocked_get, update_removes_first"),
        pytest.param(sharing, 0.1, id="two keys under one value: striped_locks"),
        pytest.param(repeating, 0.015, id="reading twice: per_thread_cache, cached_lookups"),
        pytest.param(lambda program: len(program.threads) > 2, 0.1, id="three threads: lost_wakeup"),
    ],
)
def test_every_way_to_go_wrong_is_met_often(is_hit: Callable[[Program], bool], least: float) -> None:
    found = share(is_hit)
    assert found >= least, f"{found:.1%}"


@pytest.mark.parametrize("semantics", Semantics)
def test_random_programs_follow_from_the_seed_and_have_calls_that_meet(semantics: Semantics) -> None:
    shape = ExplorerShape()
    for seed in SEEDS:
        program = explorer_program(seed, REFERENCE, semantics)
        assert program == explorer_program(seed, REFERENCE, semantics)
        assert program.semantics is semantics
        assert some_calls_meet(program)
        assert len(program.prefix) <= shape.prefix
        assert shape.threads[0] <= len(program.threads) <= shape.threads[1]
        assert all(shape.operations[0] <= len(thread) <= shape.operations[1] for thread in program.threads)
        items = {item.stamp: item for operation in program.operations() for item in operation.given}
        assert all(items[item.stamp] == item for operation in program.operations() for item in operation.given)
        written = [item.stamp for operation in program.operations() for item in operation.written]
        assert len(set(written)) == len(written)


@pytest.mark.parametrize(
    "shape",
    [
        ExplorerShape(threads=(4, 4), operations=(4, 4), prefix=0, keys=8, values=3),
        ExplorerShape(threads=(2, 2), operations=(1, 1), prefix=1, keys=1, values=1),
    ],
    ids=["large", "small"],
)
def test_random_programs_have_the_shape_that_is_asked_for(shape: ExplorerShape) -> None:
    for seed in range(200):
        program = explorer_program(seed, REFERENCE, Semantics.CLASSIC, shape)
        assert len(program.prefix) <= shape.prefix
        assert {len(program.threads), *map(len, program.threads)} <= {*shape.threads, *shape.operations}
        assert len({item.key for operation in program.operations() for item in operation.given}) <= shape.keys


@pytest.mark.parametrize(
    "target",
    [
        PLAIN_STORE,
        make_target(kcache.new_indexer, "old", [name.value for name in OPTIONAL_OPERATIONS]),
        only(OperationName.REPLACE, OperationName.LIST),
        only(OperationName.ADD),
    ],
    ids=["plain store", "old indexer", "replace and list", "add"],
)
def test_random_programs_leave_out_what_is_not_supported(target: Target) -> None:
    for seed in range(200):
        program = explorer_program(seed, target, Semantics.CLASSIC)
        assert all(target.supports(operation.name) for operation in program.operations())
        written = [item.stamp for operation in program.operations() for item in operation.written]
        assert len(set(written)) == len(written)
        assert any(operation.is_write for thread in program.threads for operation in thread)


def test_all_operations_occur_in_random_programs() -> None:
    found = {
        operation.name
        for seed in SEEDS
        for operation in explorer_program(seed, REFERENCE, Semantics.CURRENT).operations()
    }
    assert found == set(OperationName) - {OperationName.MUTATE}


def test_counting_and_writing_end_in_time() -> None:
    bound = parse_bound("3x2")
    assert count_small_scope(bound, REFERENCE, Semantics.CLASSIC, deadline=0.0) is None
    assert list(small_scope_programs(bound, REFERENCE, Semantics.CLASSIC, deadline=0.0)) == []
