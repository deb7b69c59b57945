"""The order on the page of a violation: it keeps to real time, and ends at the first error."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kcache_conformance.report.page import Picture, ordering, page_of_history, page_text, picture_of_history
from kcache_conformance.report.page.encode import encode_picture
from kcache_model.history import Call
from kcache_model.indexers import operations
from kcache_model.indexers.check import check_linearizable
from kcache_model.indexers.indexer_model import IndexerModel
from kcache_model.indexers.items import Item
from kcache_model.indexers.program import History
from kcache_model.outcomes import ErrorKind, raised, returned
from kcache_model.verdict import Status, Verdict
from model.material.simulated_histories import Simulator


def cut(history: History, moment: int, *, but: int | None = None) -> History:
    """What was observed by then; with ``but``, that call and those after it at the same moment are still open."""
    calls = []
    for position, call in enumerate(history.calls):
        if call.invoked > moment:
            continue
        end = float("inf") if call.returned is None else call.returned
        answered = end < moment or (end == moment and (but is None or position < but))
        calls.append(call if answered else replace(call, returned=None, outcome=None))
    return replace(history, calls=tuple(calls))


def assert_ends_at_the_first_error(history: History, picture: Picture) -> None:
    error = picture.first_error
    assert error is not None
    calls, moment = history.calls, history.calls[error].returned
    assert moment is not None
    assert check_linearizable(cut(history, moment, but=error)).status is Status.OK
    assert check_linearizable(cut(history, moment)).status is Status.VIOLATION
    drawn = [calls[position] for position in picture.order]
    assert not any(later.precedes(call) for at, call in enumerate(drawn) for later in drawn[at + 1 :])
    model = IndexerModel(history.semantics)
    state = model.initial(history.indexes)
    for position in picture.order:
        call = calls[position]
        state, expected = model.apply(state, call.operation)
        if position == error:
            assert picture.expected == expected
        elif call.outcome is not None and (call.returned or 0) < moment:
            assert call.outcome.agrees_with(expected), "what was answered by then is explained"
    before = {at for at, call in enumerate(calls) if call.returned is not None and call.returned < moment}
    assert before <= set(picture.order), "nothing that had returned is left out"
    if error not in picture.order:
        assert picture.expected == model.apply(state, calls[error].operation)[1]
    observed = calls[error].outcome
    assert observed is not None
    assert picture.expected is not None
    assert not observed.agrees_with(picture.expected)


def simulated(kind: str, seed: int) -> History:
    made = Simulator(seed)
    if kind == "history":
        return made.history()
    return made.stretches(6) if kind == "stretches" else made.busy(4, 14)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", ["history", "stretches", "busy"])
@pytest.mark.parametrize("start", range(0, 300, 100))
def test_the_order_of_a_violation_keeps_to_real_time_and_ends_at_the_first_error(kind: str, start: int) -> None:
    seen = 0
    for seed in range(start, start + 100):
        history = simulated(kind, seed)
        verdict = check_linearizable(history)
        if verdict.status is not Status.VIOLATION:
            continue
        seen += 1
        picture = page_of_history(history, verdict, title="t").picture
        assert picture is not None
        assert_ends_at_the_first_error(history, picture)
        assert encode_picture(picture)["firstError"] is not None
        assert ("does not name the first error" in picture.note) == (picture.first_error not in picture.core)
    assert seen > 10


def item(stamp: str) -> Item:
    return Item("a", stamp, {"node": ("n1",)})


ABSENT = History(
    ("node",),
    (
        Call(0, operations.add(item("v1")), 10, 20, returned()),
        Call(0, operations.delete(item("d")), 30, 40, returned()),
        Call(0, operations.add(item("v2")), 50, 60, returned()),
        Call(0, operations.update(item("v3")), 70, 100, returned()),
        Call(1, operations.get_by_key("a"), 80, 90, returned(None)),
    ),
)
"""The read would be right if the deletion came after the addition; but it did not."""


def test_a_deletion_that_is_not_in_the_core_stays_at_its_time() -> None:
    verdict = check_linearizable(ABSENT)
    assert [call.operation.name.value for call in verdict.core if not call.operation.is_write] == ["get_by_key"]
    picture = page_of_history(ABSENT, verdict, title="t").picture
    assert picture is not None
    assert picture.order == (0, 1, 2)
    assert (picture.first_error, picture.expected) == (4, returned("v2"))


@pytest.mark.parametrize("core", [(), (0,), (2, 3), (3,)])
def test_a_violation_has_a_first_error_whatever_its_core_is(core: tuple[int, ...]) -> None:
    calls = (
        Call(0, operations.add(item("v1")), 0, 10, returned()),
        Call(1, operations.get_by_key("a"), 20, 30, returned("v1")),
        Call(1, operations.get_by_key("a"), 40, 50, returned("never")),
        Call(2, operations.list_keys(), 45, None, None),
    )
    picture = picture_of_history(History(("node",), calls), Status.VIOLATION, core=core)
    assert picture.first_error == (0 if core == (0,) else 2)
    assert encode_picture(picture)["firstError"] == picture.first_error


def test_a_write_with_a_wrong_answer_whose_effect_was_seen() -> None:
    calls = (
        Call(0, operations.add(item("v1")), 0, 50, raised(ErrorKind.OTHER, "it says no")),
        Call(1, operations.get_by_key("a"), 20, 30, returned("v1")),
    )
    history = History(("node",), calls)
    picture = page_of_history(history, check_linearizable(history), title="t").picture
    assert picture is not None
    assert (picture.order, picture.first_error, picture.expected) == ((0, 1), 0, returned())


def test_an_error_before_those_that_are_argued_about_is_the_first() -> None:
    calls = (
        Call(0, operations.get_by_key("a"), 0, 10, returned("never")),
        Call(0, operations.add(item("v1")), 20, 30, returned()),
        Call(0, operations.get_by_key("a"), 40, 50, returned(None)),
    )
    picture = picture_of_history(History(("node",), calls), Status.VIOLATION, core=(1, 2))
    assert picture.first_error == 0
    assert "does not name the first error" in picture.note


def test_where_the_first_error_is_not_found_in_time_the_last_of_the_core_is_marked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ordering, "_SECONDS", -1e9)
    picture = picture_of_history(ABSENT, Status.VIOLATION, core=(2, 4))
    assert (picture.order, picture.first_error, picture.expected) == ((), 4, None)
    assert "No order is drawn" in picture.note


def test_a_history_without_calls_says_so() -> None:
    page = page_of_history(History(("node",), ()), Verdict(Status.OK), title="t", note="0 calls by 0 threads")
    assert page.picture is None
    assert page.paragraphs == ("There are no calls.",)
    assert 'id="picture"' not in page_text(page)


def test_the_sentences_of_a_note_have_full_stops() -> None:
    calls = tuple(Call(0, operations.list_keys(), 2 * at, 2 * at + 1, returned(())) for at in range(5_001))
    data = encode_picture(picture_of_history(History((), calls), Status.UNKNOWN, note="5,001 calls by 1 thread"))
    assert data["note"] == (
        "5,001 calls by 1 thread. No order is drawn, because the checker found no order. "
        "Only 5,000 of 5,001 calls are drawn: the first calls."
    )
    data = encode_picture(Picture(History((), calls[:1])))
    assert data["note"] == ""
