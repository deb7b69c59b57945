"""The arguments why a history is impossible: as sound and complete as the checkers, of the right class, readable."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from kcache_model.anomaly import Anomaly
from kcache_model.history import FINAL_THREAD, PREFIX_THREAD, Call
from kcache_model.indexers import operations as op
from kcache_model.indexers.check import check_linearizable
from kcache_model.indexers.explanation import Explainer
from kcache_model.indexers.items import Item
from kcache_model.indexers.just_in_time import judge_history, why_not
from kcache_model.indexers.operations import Operation, WriteKind
from kcache_model.indexers.program import History
from kcache_model.outcomes import ErrorKind, Outcome, Value, raised
from kcache_model.verdict import Status
from model.material.simulated_histories import INDEXES, Simulator

NIGHTLY = os.environ.get("KCACHE_HYPOTHESIS_PROFILE") == "nightly"

HISTORIES = int(os.environ.get("KCACHE_SMALL_HISTORIES", "1000000" if NIGHTLY else "100000")) // 10


@pytest.mark.one_in(4)
@pytest.mark.parametrize("chunk", range(10))
def test_what_is_refuted_is_what_the_checkers_call_impossible(chunk: int) -> None:
    for number in range(HISTORIES // 10):
        history = Simulator(10_000_000 + chunk * HISTORIES + number).history()
        if why_not(history):
            continue
        status = judge_history(history).status
        explanation = Explainer(history).explain(range(len(history.calls)))
        assert (explanation is not None) == (status is Status.VIOLATION), history
        if explanation is not None and explanation.argument:
            named = {id(call) for call in explanation.calls}
            kept = tuple(call for call in history.calls if id(call) in named or call.operation.is_write)
            assert judge_history(replace(history, calls=kept)).status is Status.VIOLATION, history


def item(key: str, stamp: str, node: str = "n1") -> Item:
    return Item(key, stamp, {"node": (node,)})


def call(thread: int, operation: Operation, invoked: int, returned: int, value: Value = None) -> Call:
    return Call(thread, operation, invoked, returned, Outcome(value))


ADD = call(0, op.add(item("a", "v1")), 1, 2)
UPDATE = call(0, op.update(item("a", "v2")), 3, 4)
MOVE = call(0, op.update(item("a", "v2", "n2")), 3, 4)
DELETE = call(0, op.delete(item("a", "v3")), 3, 4)
SLOW_MOVE = call(0, op.update(item("a", "v2", "n2")), 3, 20)
SLOW_REPLACE = call(0, op.replace((item("a", "v5"), item("b", "v6"))), 3, 20)
SLOW_TRANSACTION = call(0, op.transaction((WriteKind.ADD, item("a", "v5")), (WriteKind.ADD, item("b", "v6"))), 3, 20)

CASES: dict[str, tuple[Anomaly, tuple[Call, ...], tuple[Call, ...], str]] = {
    "stale read": (
        Anomaly.STALE_READ,
        (ADD, UPDATE, call(1, op.list_objects(), 5, 6, ("v2",))),
        (call(1, op.get_by_key("a"), 7, 8, "v1"), call(1, op.get_by_key("a"), 7, 8, "v2")),
        "stale read: get_by_key(a) of thread 2 returned v1, but update(a@v2) of thread 1 had replaced it and had "
        "returned before get_by_key(a) began; it came after add(a@v1) of thread 1, which had returned before it began; "
        "nothing wrote it again; so no order explains it",
    ),
    "stale read, as another read shows": (
        Anomaly.STALE_READ,
        (ADD, replace(UPDATE, returned=20), call(1, op.get_by_key("a"), 5, 6, "v2")),
        (call(2, op.get_by_key("a"), 7, 8, "v1"), call(2, op.get_by_key("a"), 7, 8, "v2")),
        "stale read: get_by_key(a) of thread 3 returned v1, but update(a@v2) of thread 1 had replaced it before: "
        "get_by_key(a) of thread 2 returned v2, which update(a@v2) wrote, and get_by_key(a) of thread 2 had returned "
        "before get_by_key(a) of thread 3 began; it came after add(a@v1) of thread 1, which had returned before it "
        "began; nothing wrote it again; so no order explains it",
    ),
    "lost update": (
        Anomaly.LOST_UPDATE,
        (ADD, UPDATE),
        (call(FINAL_THREAD, op.list_objects(), 7, 8, ("v1",)), call(FINAL_THREAD, op.list_objects(), 7, 8, ("v2",))),
        "lost update: list() (after the threads) returned v1, but update(a@v2) of thread 1 had replaced it and had "
        "returned before list() began; it came after add(a@v1) of thread 1, which had returned before it began; "
        "nothing wrote it again; so no order explains it",
    ),
    "torn replace": (
        Anomaly.TORN_REPLACE,
        (replace(ADD, thread=PREFIX_THREAD), SLOW_REPLACE),
        (call(1, op.list_objects(), 5, 6, ("v1", "v6")), call(1, op.list_objects(), 5, 6, ("v5", "v6"))),
        "torn replace: list() of thread 2 returned v1, but replace([a@v5, b@v6]) of thread 1 had replaced it before: "
        "list() returned v6, which replace([a@v5, b@v6]) wrote; it came after add(a@v1) (before the threads), which "
        "had returned before it began; nothing wrote it again; so no order explains it",
    ),
    "torn replace, empty in between": (
        Anomaly.TORN_REPLACE,
        (ADD, SLOW_REPLACE),
        (call(1, op.list_keys(), 5, 6, ()), call(1, op.list_keys(), 5, 6, ("a",))),
        "torn replace: list_keys() of thread 2 did not return the key a, but add(a@v1) of thread 1 had put it there "
        "and had returned before list_keys() began; nothing removed it; replace([a@v5, b@v6]) of thread 1 was under "
        "way; so no order explains it",
    ),
    "torn replace, removed but not yet written": (
        Anomaly.TORN_REPLACE,
        (ADD, replace(SLOW_REPLACE, operation=op.replace((item("b", "v6"),)))),
        (call(1, op.by_index("node", "n1"), 5, 6, ()), call(1, op.by_index("node", "n1"), 5, 6, ("v6",))),
        "torn replace: by_index(node, n1) of thread 2 did not return the object of key a, but add(a@v1) of thread 1 "
        "had put it there and had returned before by_index(node, n1) began; nothing removed it in between: "
        "replace([b@v6]) of thread 1 came after that: by_index(node, n1) did not return the object of key b, so "
        "it came before replace([b@v6]); so no order explains it",
    ),
    "half-applied transaction": (
        Anomaly.HALF_APPLIED_WRITE,
        (ADD, SLOW_TRANSACTION),
        (call(1, op.list_objects(), 5, 6, ("v1", "v6")), call(1, op.list_objects(), 5, 6, ("v1",))),
        "half-applied write: list() of thread 2 returned v1, but transaction(add a@v5, add b@v6) of thread 1 had "
        "replaced it before: list() returned v6, which transaction(add a@v5, add b@v6) wrote; it came after add(a@v1) "
        "of thread 1, which had returned before it began; nothing wrote it again; so no order explains it",
    ),
    "half-applied move": (
        Anomaly.HALF_APPLIED_WRITE,
        (ADD, SLOW_MOVE, call(1, op.list_objects(), 5, 6, ("v2",))),
        (call(1, op.by_index("node", "n1"), 7, 8, ("v1",)), call(1, op.by_index("node", "n1"), 7, 8, ())),
        "half-applied write: by_index(node, n1) of thread 2 returned v1, but update(a@v2) of thread 1 had moved it "
        "before: list() of thread 2 returned v2, which update(a@v2) wrote, and list() had returned before "
        "by_index(node, n1) began; it came after add(a@v1) of thread 1, which had returned before it began; nothing "
        "wrote it again; so no order explains it",
    ),
    "vanished object": (
        Anomaly.VANISHED_OBJECT,
        (ADD, call(1, op.get_by_key("a"), 3, 4, "v1")),
        (call(1, op.by_index("node", "n1"), 7, 8, ()), call(1, op.by_index("node", "n2"), 7, 8, ())),
        "vanished object: by_index(node, n1) of thread 2 did not return the object of key a, but add(a@v1) of thread 1 "
        "had put it there and had returned before by_index(node, n1) began; nothing removed it; so no order explains "
        "it",
    ),
    "resurrected object": (
        Anomaly.RESURRECTED_OBJECT,
        (ADD, DELETE),
        (call(1, op.list_objects(), 7, 8, ("v1",)), call(1, op.list_objects(), 4, 8, ("v1",))),
        "resurrected object: list() of thread 2 returned v1, but delete(a@v3) of thread 1 had removed it and had "
        "returned before list() began; it came after add(a@v1) of thread 1, which had returned before it began; "
        "nothing wrote it again; so no order explains it",
    ),
    "ghost index value": (
        Anomaly.GHOST_INDEX_VALUE,
        (ADD, MOVE),
        (call(1, op.by_index("node", "n1"), 7, 8, ("v1",)), call(1, op.by_index("node", "n2"), 7, 8, ("v2",))),
        "ghost index value: by_index(node, n1) of thread 2 returned v1, but update(a@v2) of thread 1 had moved it and "
        "had returned before by_index(node, n1) began; it came after add(a@v1) of thread 1, which had returned before "
        "it began; nothing wrote it again; so no order explains it",
    ),
    "ghost among the values": (
        Anomaly.GHOST_INDEX_VALUE,
        (ADD, MOVE),
        (
            call(1, op.list_index_func_values("node"), 7, 8, ("n1", "n2")),
            call(1, op.list_index_func_values("node"), 7, 8, ("n2",)),
        ),
        "ghost index value: list_index_func_values(node) of thread 2 returned the value n1, but update(a@v2) of thread "
        "1 had returned before list_index_func_values(node) began, and came after add(a@v1) of thread 1, the last "
        "write that put it there; so no order explains it",
    ),
    "ghost under a value, as a newer version": (
        Anomaly.GHOST_INDEX_VALUE,
        (ADD, MOVE),
        (call(1, op.by_index("node", "n1"), 3, 5, ("v2",)), call(1, op.by_index("node", "n1"), 3, 5, ("v1",))),
        "ghost index value: by_index(node, n1) returned [v2], but v2 is under n2 of node; v1, of the same key, "
        "was under it",
    ),
    "phantom": (
        Anomaly.PHANTOM,
        (ADD,),
        (call(1, op.get_by_key("b"), 3, 4, "v1"), call(1, op.get_by_key("a"), 3, 4, "v1")),
        "phantom: get_by_key(b) returned v1, but v1 is the object of another key: a",
    ),
    "phantom from the future": (
        Anomaly.PHANTOM,
        (ADD, replace(UPDATE, invoked=7, returned=8)),
        (call(1, op.get_by_key("a"), 3, 4, "v2"), call(1, op.get_by_key("a"), 3, 7, "v2")),
        "phantom: get_by_key(a) returned v2, but the write of v2 began only later",
    ),
    "phantom under a value": (
        Anomaly.PHANTOM,
        (ADD,),
        (call(1, op.by_index("node", "n2"), 3, 4, ("v1",)), call(1, op.by_index("node", "n1"), 3, 4, ("v1",))),
        "phantom: by_index(node, n2) returned [v1], but v1 is under n1 of node",
    ),
    "phantom key": (
        Anomaly.PHANTOM,
        (ADD,),
        (call(1, op.list_keys(), 3, 4, ("a", "b")), call(1, op.list_keys(), 3, 4, ("a",))),
        "phantom: list_keys() of thread 2 returned the key b, but no write that had begun before put it there; so "
        "no order explains it",
    ),
    "wrong outcome": (
        Anomaly.WRONG_OUTCOME,
        (ADD,),
        (
            Call(1, op.list_keys(), 3, 4, raised(ErrorKind.OTHER, "KeyError: 'a'")),
            call(1, op.list_keys(), 3, 4, ("a",)),
        ),
        "wrong outcome: list_keys() raised KeyError: 'a'; it must not fail, whatever the store holds",
    ),
    "wrong outcome, twice the same": (
        Anomaly.WRONG_OUTCOME,
        (ADD,),
        (call(1, op.list_objects(), 3, 4, ("v1", "v1")), call(1, op.list_objects(), 3, 4, ("v1",))),
        "wrong outcome: list() returned [v1, v1], with duplicates",
    ),
    "wrong outcome, no error": (
        Anomaly.WRONG_OUTCOME,
        (ADD,),
        (
            call(1, op.by_index("rack", "n1"), 3, 4, ()),
            Call(1, op.by_index("rack", "n1"), 3, 4, raised(ErrorKind.INDEX_NOT_FOUND)),
        ),
        "wrong outcome: by_index(rack, n1) returned []; it must fail, whatever the store holds",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_anomaly_is_named_and_argued_and_its_twin_passes(name: str) -> None:
    anomaly, before, (wrong, right), argument = CASES[name]
    verdict = check_linearizable(History(("node",), (*before, wrong)))
    assert verdict.status is Status.VIOLATION
    assert verdict.anomaly is anomaly
    assert verdict.reason == argument
    assert wrong in verdict.core
    assert check_linearizable(History(("node",), (*before, right))).status is Status.OK


def test_every_class_has_a_case() -> None:
    assert {anomaly for anomaly, *_ in CASES.values()} == set(Anomaly)


def test_cases_are_told_apart() -> None:
    """Which of two concurrent writes was the last is unknown: both are ruled out."""
    first = call(0, op.update(item("a", "v1")), 1, 10)
    second = call(1, op.update(item("a", "v2")), 1, 10)
    reads = (
        call(2, op.get_by_key("a"), 11, 12, "v1"),
        call(2, op.get_by_key("a"), 13, 14, "v2"),
    )
    verdict = check_linearizable(History(INDEXES, (first, second, *reads)))
    assert verdict.anomaly is not None
    assert verdict.reason.endswith("so no order explains it")
    assert {one.operation.name.value for one in verdict.core} == {"update", "get_by_key"}


def test_long_history_is_explained_by_few_calls() -> None:
    history = Simulator(7).stretches(2_000)
    good = judge_history(history)
    if good.status is Status.OK:
        last = history.calls[-1]
        end = max(one.returned or one.invoked for one in history.calls)
        wrong = call(9, op.get_by_key("a"), end + 1, end + 2, "v1")
        history = replace(history, calls=(*history.calls, wrong))
        assert last is not None
    verdict = check_linearizable(history)
    assert verdict.status is Status.VIOLATION
    assert verdict.anomaly is not None
    assert len(verdict.core) <= 6
