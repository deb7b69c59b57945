"""Laws of the specification, stated once more and independently."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kcache_conformance.indexers.strategies import index_values, shapes
from kcache_model.indexers import operations as op
from kcache_model.indexers.indexer_model import IndexerModel, State
from kcache_model.indexers.items import Item, Semantics
from kcache_model.indexers.operations import Operation, WriteKind
from kcache_model.indexers.vocabulary import ALL_INDEXES
from kcache_model.outcomes import ErrorKind, raised, returned

items = st.builds(lambda shape, number: shape.stamped(f"v{number}"), shapes(), st.integers(0, 10**9))
models = st.sampled_from([IndexerModel(semantics) for semantics in Semantics])
writes = st.one_of(
    st.builds(op.add, items),
    st.builds(op.delete, items),
    st.builds(op.replace, st.lists(items, max_size=3).map(tuple)),
    st.lists(st.tuples(st.sampled_from(WriteKind), items), max_size=3).map(lambda entries: op.transaction(*entries)),
)


def run(model: IndexerModel, operations: list[Operation]) -> State:
    state = model.initial(ALL_INDEXES)
    for operation in operations:
        state, _ = model.apply(state, operation)
    return state


@given(models, st.lists(writes, max_size=5), items)
def test_add_then_get(model: IndexerModel, before: list[Operation], item: Item) -> None:
    state, outcome = model.apply(run(model, before), op.add(item))
    if outcome.error is None:
        assert model.apply(state, op.get(item))[1] == returned(item.stamp)
        for index in ALL_INDEXES:
            for value in item.values.get(index) or ():
                found = model.apply(state, op.by_index(index, value))[1].value
                assert isinstance(found, tuple)
                assert item.stamp in found
    else:
        assert state == run(model, before), "a failing write changes nothing"


@given(models, st.lists(writes, max_size=5), items)
def test_delete_twice_is_delete_once(model: IndexerModel, before: list[Operation], item: Item) -> None:
    once, _ = model.apply(run(model, before), op.delete(item))
    assert model.apply(once, op.delete(item))[0] == once
    if item.key is not None:
        assert item.key not in once.stored


@given(models, st.lists(writes, max_size=4), st.lists(items, max_size=4))
def test_replace_forgets_what_was_before(model: IndexerModel, before: list[Operation], some: list[Item]) -> None:
    operation = op.replace(tuple(some))
    state, outcome = model.apply(run(model, before), operation)
    if outcome.error is None:
        assert state == run(model, [operation])


@given(models, st.lists(writes, max_size=6), st.sampled_from(ALL_INDEXES), index_values())
def test_lookups_agree(model: IndexerModel, before: list[Operation], index: str, value: str) -> None:
    state = run(model, before)
    keys = model.apply(state, op.index_keys(index, value))[1].value
    stamps = model.apply(state, op.by_index(index, value))[1].value
    in_use = model.apply(state, op.list_index_func_values(index))[1].value
    assert isinstance(keys, tuple)
    assert isinstance(in_use, tuple)
    assert stamps == tuple(sorted(state.stored[key].item.stamp for key in keys))
    assert (value in in_use) == bool(keys)
    probe = Item("probe", "p", {index: (value,)})
    assert model.apply(state, op.index(index, probe))[1].value == stamps


def test_the_two_semantics_differ_in_add_indexers_alone() -> None:
    stored = op.add(Item("a", "v1", {"node": ("n1",)}))
    for semantics, expected in (
        (Semantics.CLASSIC, raised(ErrorKind.INDEXERS_RUNNING)),
        (Semantics.CURRENT, returned()),
    ):
        model = IndexerModel(semantics)
        state, _ = model.apply(model.initial(()), stored)
        state, outcome = model.apply(state, op.add_indexers("node"))
        assert outcome == expected
    assert model.apply(state, op.by_index("node", "n1"))[1] == returned(("v1",))


def test_a_late_index_sees_an_object_as_it_is_then() -> None:
    model = IndexerModel(Semantics.CURRENT)
    state = model.initial(("node",))
    for operation in (
        op.add(Item("a", "v1", {"node": ("n1",), "zone": ("z1",)})),
        op.mutate("a", {"node": ("n2",), "zone": ("z2",)}),
        op.add_indexers("zone"),
    ):
        state, outcome = model.apply(state, operation)
        assert outcome == returned()
    assert model.apply(state, op.by_index("node", "n1"))[1] == returned(("v1",))
    assert model.apply(state, op.by_index("zone", "z2"))[1] == returned(("v1",))


def test_the_last_object_of_a_transaction_gives_the_version() -> None:
    """One without metadata leaves the version that there was before the transaction (client-go ``Transaction``)."""
    first, plain = Item("a", "v1", {}, "1"), Item("b", "v2", {})
    for entries, version in (((first, plain), "0"), ((plain, first), "1")):
        for semantics in Semantics:
            model = IndexerModel(semantics)
            state = run(model, [op.bookmark("0"), op.transaction(*((WriteKind.ADD, item) for item in entries))])
            assert model.apply(state, op.last_sync_resource_version())[1] == returned(version)
