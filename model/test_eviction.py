"""Objects that vanish by themselves: all that may be seen of them, and what may not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kcache_model.errors import FormatError
from kcache_model.history import Call
from kcache_model.indexers import operations as op
from kcache_model.indexers.check import check_linearizable
from kcache_model.indexers.codec import decode_program, dump_history, encode_program, load_history
from kcache_model.indexers.eviction import EvictingModel
from kcache_model.indexers.items import Item
from kcache_model.indexers.just_in_time import why_not
from kcache_model.indexers.operations import Operation
from kcache_model.indexers.program import History, Program
from kcache_model.indexers.recording.judging import judge_recording, recorded_history
from kcache_model.outcomes import Outcome, raised, returned
from kcache_model.verdict import Status

A, B, C = (
    Item(key, f"v{key}", {"node": values}) for key, values in zip("abc", [("n1",), ("n1", "n2"), ()], strict=True)
)
MODEL = EvictingModel()
READS = (
    op.get(A),
    op.get_by_key("b"),
    op.list_objects(),
    op.list_keys(),
    op.index("node", B),
    op.index_keys("node", "n1"),
    op.by_index("node", "n2"),
    op.list_index_func_values("node"),
    op.get_indexers(),
    op.add_indexers("zone"),
    op.add_indexers("node"),  # it fails while objects are stored, and for another reason when none are left
)
EMPTY = returned(())


def filled(*operations: Operation) -> object:
    state = MODEL.initial(["node"])
    for operation in operations or map(op.add, (A, B, C)):
        state, _ = MODEL.apply(state, operation)
    return state


@pytest.mark.parametrize("read", READS, ids=str)
def test_what_was_seen_tells_all_that_may_be_left(read: Operation) -> None:
    state = filled()
    effects = MODEL.effects(state, read)
    assert effects[0] == MODEL.apply(state, read)
    assert [MODEL.respond(state, read, outcome) for _, outcome in effects] == list(effects)


def test_what_is_gone_stays_gone_until_it_is_written() -> None:
    state, _ = MODEL.respond(filled(), op.get(A), returned(None))
    assert MODEL.respond(state, op.list_keys(), returned(("a", "b")))[1] == returned(("b", "c"))
    state, _ = MODEL.apply(state, op.add(A))
    assert MODEL.respond(state, op.list_keys(), returned(("a", "b")))[1] == returned(("a", "b"))


def test_a_write_may_lose_others_and_fails_as_ever() -> None:
    fails = Item("d", "vd", {"node": None})
    state = filled()
    assert MODEL.effects(state, op.update(B)) == (MODEL.apply(state, op.update(B)),)
    assert MODEL.effects(state, op.add(fails)) == ((state, raised("index_func")),)


def history(*calls: tuple[int, Operation, int, int, Outcome], may_evict: bool = True) -> History:
    return History(("node",), tuple(Call(*call[:2], *call[2:]) for call in calls), may_evict=may_evict)


WRITES = tuple((-1, op.add(item), 2 * number, 2 * number + 1, returned()) for number, item in enumerate((A, B)))
GONE_THEN_THERE = (
    (0, op.get(A), 10, 11, returned(None)),
    (0, op.list_keys(), 12, 13, returned(("a", "b"))),
)
GONE_WHILE_IT_IS_THERE = (
    (0, op.get(A), 10, 14, returned(None)),
    (1, op.list_keys(), 11, 13, returned(("a", "b"))),
)


@pytest.mark.parametrize(
    ("calls", "status"), [(GONE_THEN_THERE, Status.VIOLATION), (GONE_WHILE_IT_IS_THERE, Status.OK)]
)
def test_a_read_that_misses_an_object_comes_after_those_that_see_it(
    calls: Sequence[tuple[int, Operation, int, int, Outcome]], status: Status
) -> None:
    """A read is no longer taken as soon as it agrees: it decides what later ones may see."""
    verdict = check_linearizable(history(*WRITES, *calls))
    assert verdict.status is status
    if status is Status.VIOLATION:
        assert {call.operation.name for call in verdict.core} >= {op.get(A).name, op.list_keys().name}
    assert check_linearizable(history(*WRITES, *calls, may_evict=False)).status is Status.VIOLATION
    assert judge_recording(lambda: dump_history(history(*WRITES, *calls))).verdict.status is status


def test_whether_a_cache_may_evict_is_true_or_false() -> None:
    header, *calls = dump_history(history(*WRITES))
    with pytest.raises(FormatError, match='"may_evict" must be true or false, not 3'):
        load_history([header.replace("true", "3"), *calls])
    with pytest.raises(FormatError, match='"may_evict" must be true or false, not 3'):
        recorded_history(lambda: [header.replace("true", "3"), *calls])


def test_histories_are_searched_however_long_they_are() -> None:
    many = [(0, op.get(A), tick, tick, returned(None)) for tick in range(20, 40)]
    found = history(*WRITES, *many)
    assert why_not(found)
    assert check_linearizable(found).status is Status.OK


def test_it_is_written_down() -> None:
    program = Program(("node",), (op.add(A),), may_evict=True)
    assert decode_program(encode_program(program)) == program
    assert load_history(dump_history(history(*WRITES))) == history(*WRITES)
