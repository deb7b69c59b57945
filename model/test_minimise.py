"""Minimisation keeps what fails and drops what does not matter."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from kcache_conformance.indexers.strategies import operations
from kcache_model.indexers import operations as op
from kcache_model.indexers.items import Item, Style
from kcache_model.indexers.object_type import INDEXER_OBJECTS
from kcache_model.indexers.operations import Operation, OperationName
from kcache_model.indexers.program import Program
from kcache_model.object_types.smaller import smaller

minimise: Callable[..., Program] = partial(smaller, INDEXER_OBJECTS, stays_concurrent=False)


@given(st.lists(operations(), max_size=12), st.sets(st.integers(0, 11), min_size=1, max_size=3))
def test_finds_the_operations_that_matter(some: list[Operation], needed: set[int]) -> None:
    marked = [op.bookmark(f"needed {n}") if n in needed else operation for n, operation in enumerate(some)]
    program = Program(("node",), tuple(marked))
    wanted = {operation for operation in marked if operation.resource_version.startswith("needed")}

    def fails(candidate: Program) -> bool:
        return wanted <= {operation for operation in candidate.prefix if operation.name is OperationName.BOOKMARK}

    smallest = minimise(program, fails)
    assert fails(smallest)
    assert set(smallest.prefix) == wanted
    assert smallest.indexes == ()


def test_simplifies_items() -> None:
    item = Item("key", "v17", {"node": ("n1", "n2"), "tags": None}, "5", Style.FALSY)
    program = Program(("node", "tags"), (op.replace((item, Item("other", "v18")), "9"),))

    def fails(candidate: Program) -> bool:
        return any("node" in item.values for operation in candidate.prefix for item in operation.items)

    (operation,) = minimise(program, fails).prefix
    assert operation == op.replace((Item("a", "v1", {"node": ()}),))


def test_drops_threads_that_do_nothing() -> None:
    program = Program((), (), ((op.list_keys(),), (op.list_objects(), op.resync()), (op.list_keys(),)))

    def fails(candidate: Program) -> bool:
        return any(operation.name is OperationName.RESYNC for operation in candidate.operations())

    assert minimise(program, fails) == Program((), (op.resync(),), ())


def test_what_needs_no_other_thread_happens_before_the_threads_start() -> None:
    program = Program((), (), ((op.list_keys(), op.resync(), op.list_objects()), (op.list_keys(),)))

    def fails(candidate: Program) -> bool:
        names = [operation.name for operation in candidate.operations()]
        lists = any(operation.name is OperationName.LIST for operation in candidate.threads[0]) if names else False
        return not candidate.is_sequential and lists and OperationName.RESYNC in names

    smaller = minimise(program, fails)
    assert smaller.prefix == (op.resync(),)
    assert [len(thread) for thread in smaller.threads] == [1, 1]


def test_stops_at_its_budget_with_what_it_has() -> None:
    calls = 0

    def fails(candidate: Program) -> bool:
        nonlocal calls
        calls += 1
        return len(candidate) > 10

    program = Program((), tuple(op.get_by_key(str(n)) for n in range(50)))
    smallest = minimise(program, fails, attempts=3)
    assert calls == 3
    assert len(smallest) < 50
    assert minimise(program, fails, seconds=0.0) == program
