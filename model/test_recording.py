"""Recordings: read line by line, judged as the same history in memory, refused with the line that is wrong."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from typing import Any

import jsonschema
import pytest

from kcache_model.errors import FormatError
from kcache_model.history import Call
from kcache_model.indexers.check import check_linearizable
from kcache_model.indexers.codec import dump_history
from kcache_model.indexers.program import History
from kcache_model.indexers.recording import RecordingVerdict, dump_events, judge_recording, judging, read_recording
from kcache_model.verdict import Status
from model.material.simulated_histories import Simulator

NIGHTLY = os.environ.get("KCACHE_HYPOTHESIS_PROFILE") == "nightly"

HISTORIES = int(os.environ.get("KCACHE_SMALL_HISTORIES", "1000000" if NIGHTLY else "100000")) // 100

HEADER = '{"schema": "kcache/events/1", "indexes": ["node"]}'
ADD = '{"at": 1, "thread": 1, "invoke": {"op": "add", "item": {"key": "a", "stamp": "v1", "values": {"node": ["n1"]}}}}'
ADDED = '{"at": 2, "thread": 1, "return": {"result": null}}'
LIST = '{"at": 3, "thread": 2, "invoke": {"op": "list"}}'
FULL = '{"at": 4, "thread": 2, "return": {"result": ["v1"]}}'
LATE = '{"thread": 0, "op": "list", "invoked": 1, "returned": 2, "outcome": OUTCOME}'
EMPTY = '{"at": 4, "thread": 2, "return": {"result": []}}'


def judged(*lines: str, **options: Any) -> RecordingVerdict:
    return judge_recording(lambda: [f"{line}\n" for line in lines], **options)


@functools.cache
def validator(name: str) -> Any:
    text = resources.files("kcache_model").joinpath("schemas", f"{name}.schema.json").read_text(encoding="utf-8")
    schema = json.loads(text)
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def histories() -> Iterator[History]:
    simulator = Simulator(77)
    for number in range(HISTORIES):
        yield simulator.history() if number % 3 else simulator.stretches(4)


@pytest.mark.nightly
def test_recorded_and_in_memory_the_verdict_is_the_same() -> None:
    answers = set()
    for number, history in enumerate(histories()):
        in_memory = check_linearizable(history)
        for lines in (list(dump_events(history)), list(dump_history(history))):
            if number < 50 and lines[0].startswith('{"schema": "kcache/events'):
                for line in lines:
                    validator("events").validate(json.loads(line))
            found = judged(*lines)
            assert found.verdict.status is in_memory.status, history
            if in_memory.status is Status.VIOLATION:
                assert found.verdict.anomaly is not None
                assert len(found.lines) == len(found.history.calls)
        answers.add(in_memory.status)
    assert answers == {Status.OK, Status.VIOLATION}


def test_what_is_read_is_what_was_recorded() -> None:
    for history in list(histories())[:200]:
        recording = read_recording(dump_events(history))
        assert recording.header.indexes == history.indexes
        assert recording.header.semantics is history.semantics
        again = judging.assembled(recording.events or ())
        assert sorted((call for _, call in again), key=moment) == sorted(
            map(with_sorted_result, history.calls), key=moment
        )


def moment(call: Call) -> tuple[int, int]:
    return call.invoked, call.thread


def with_sorted_result(call: Call) -> Call:
    if call.outcome is None or not isinstance(call.outcome.value, tuple):
        return call
    return replace(call, outcome=replace(call.outcome, value=tuple(sorted(call.outcome.value))))


def test_right_and_wrong() -> None:
    right = judged(HEADER, ADD, ADDED, LIST, FULL)
    assert (right.verdict.status, right.calls, right.pending, right.threads) == (Status.OK, 2, 0, 2)
    wrong = judged(HEADER, ADD, "", ADDED, LIST, EMPTY)
    assert wrong.verdict.status is Status.VIOLATION
    assert wrong.verdict.reason.startswith("lost update: list() of thread 2 did not return the object of key a")
    assert wrong.lines == ((2, 4), (5, 6))


def test_call_that_never_returns_may_have_taken_effect_or_not() -> None:
    assert judged(HEADER, ADD, LIST, FULL).verdict.status is Status.OK
    assert judged(HEADER, ADD, LIST, EMPTY).verdict.status is Status.OK
    assert judged(HEADER, ADD, LIST).pending == 2


def test_before_and_after_the_threads() -> None:
    before, after = (text.replace('"thread": 1', '"thread": "before"') for text in (ADD, ADDED))
    last = LIST.replace('"thread": 2', '"thread": "after"')
    empty = EMPTY.replace('"thread": 2', '"thread": "after"')
    wrong = judged(HEADER, before, after, last, empty)
    assert wrong.verdict.reason.startswith("lost update: list() (after the threads) did not return the object of key a")


def test_the_order_of_a_list_does_not_matter() -> None:
    more = ADD.replace('"at": 1', '"at": 2').replace('"v1"', '"v0"').replace('"a"', '"b"')
    both = FULL.replace('["v1"]', '["v1", "v0"]')
    assert judged(HEADER, ADD, ADDED, more, ADDED, LIST, both).verdict.status is Status.OK


def test_at_the_same_tick_calls_are_concurrent() -> None:
    late = '{"at": 2, "thread": 2, "invoke": {"op": "list"}}'
    assert judged(HEADER, ADD, ADDED, late, EMPTY).verdict.status is Status.OK


def test_what_the_stamps_do_not_tell_is_judged_as_a_whole() -> None:
    mutate = '{"at": 3, "thread": 1, "invoke": {"op": "mutate", "key": "a", "values": {"node": ["n2"]}}}'
    mutated = '{"at": 4, "thread": 1, "return": {"result": null}}'
    look = '{"at": 5, "thread": 1, "invoke": {"op": "by_index", "index": "node", "value": "n1"}}'
    found = '{"at": 6, "thread": 1, "return": {"result": ["v1"]}}'
    missed = '{"at": 6, "thread": 1, "return": {"result": []}}'
    assert judged(HEADER, ADD, ADDED, mutate, mutated, look, found).verdict.status is Status.OK
    assert judged(HEADER, ADD, ADDED, mutate, mutated, look, missed).verdict.status is Status.VIOLATION


def test_budget_that_runs_out_says_unknown() -> None:
    found = judged(HEADER, ADD, ADDED, LIST, FULL, seconds=0.0)
    assert found.verdict.status is Status.OK or "gave up" in found.verdict.reason
    busy = list(dump_events(Simulator(5).correct(8, 3_000)))
    found = judged(*busy, seconds=1e-9)
    assert found.verdict.status is Status.UNKNOWN
    assert "the checker gave up" in found.verdict.reason


def test_too_long_to_be_explained_the_call_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "MOST_EXPLAINED", 1)
    wrong = judged(HEADER, ADD, ADDED, LIST, EMPTY)
    assert wrong.verdict.status is Status.VIOLATION
    assert wrong.verdict.reason.startswith("list() returned []. No sequential order of the calls gives that")
    assert [call.operation.name.value for call in wrong.verdict.core] == ["list"]
    assert wrong.lines == ((4, 5),)


@pytest.mark.nightly
def test_progress_is_told() -> None:
    told: list[int] = []
    lines = list(dump_events(Simulator(5).correct(3, 12_000)))
    judge_recording(lambda: lines, on_calls=told.append)
    assert told == [5_000, 10_000]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "the recording is empty; its first line must be"),
        (["[]"], 'line 1: the first line must have "schema": "kcache/events/1" or "kcache/history/1", found null'),
        (['{"schema": "kcache/events/2", "indexes": []}'], 'found "kcache/events/2"'),
        (['{"schema": "kcache/events/1"}'], "line 1: the first line lacks indexes"),
        (['{"schema": "kcache/events/1", "indexes": [1]}'], "line 1: expected a list of texts, not [1]"),
        (
            ['{"schema": "kcache/events/1", "indexes": [], "semantics": "x"}'],
            'line 1: unknown semantics "x"; known are',
        ),
        ([HEADER, "", "{]"], "line 3: not JSON: "),
        ([HEADER, "[" * 100_000], "line 2: "),
        ([HEADER, "17"], "line 2: an event must be a JSON object, not 17"),
        ([HEADER, '{"at": 1.5, "thread": 1, "invoke": {"op": "list"}}'], 'line 2: an event needs an integer as "at"'),
        ([HEADER, '{"at": 1, "thread": 1}'], 'line 2: an event needs either "invoke" or "return"'),
        ([HEADER, '{"at": 1, "thread": 1, "invoke": {"op": "list"}, "return": {"result": []}}'], 'either "invoke" or'),
        (
            [HEADER, '{"at": 1, "thread": 1, "invoke": {"op": "lst"}}'],
            'line 2: unknown operation "lst"; known are: add,',
        ),
        ([HEADER, '{"at": 1, "thread": 1, "invoke": {"op": "by_index", "index": "n"}}'], "by_index lacks value"),
        ([HEADER, '{"at": 1, "thread": 1, "invoke": {"op": "get_by_key", "key": null}}'], "expected a text, not null"),
        ([HEADER, '{"at": 1, "thread": 1, "invoke": null}'], 'an operation needs a field "op": null'),
        ([HEADER, ADD, '{"at": 2, "thread": 1, "return": null}'], 'line 3: "return" must be {"result": ...} or'),
        (
            [HEADER, ADD, '{"at": 2, "thread": 1, "return": {"error": "oops"}}'],
            'line 3: unknown error "oops"; known are',
        ),
        (
            [HEADER, '{"at": 1, "thread": 0, "invoke": {"op": "list"}}'],
            'line 2: "thread" must be an integer of at least 1',
        ),
        ([HEADER, '{"at": 1, "thread": true, "invoke": {"op": "list"}}'], '"before" or "after", not true'),
        ([HEADER, ADDED.replace("1", '"before"')], "line 2: "),
        ([HEADER, ADD.replace('"thread": 1', '"thread": 1, "thread": 2')], 'line 2: duplicate field "thread"'),
        (
            ['{"schema": "kcache/history/1", "indexes": []}', LATE.replace("OUTCOME", "5")],
            "line 2: a result must be a JSON object, not 5",
        ),
        ([HEADER, ADDED], "line 2: thread 1 returns from a call that did not begin"),
        ([HEADER, ADD, ADDED, '{"at": 2, "thread": 1, "return": {"result": null}}'], "line 4: thread 1 returns from a"),
        ([HEADER, ADD, ADD], "line 3: thread 1 begins a call before its call of line 2 has returned"),
        ([HEADER, LIST, ADD], "line 3: the clock goes backwards, from 3 to 1"),
        ([HEADER, ADD, ADDED, ADD.replace('"at": 1', '"at": 5')], 'line 4: the stamp "v1" was written before'),
        (['{"schema": "kcache/history/1", "indexes": []}', "{}"], "line 2: "),
    ],
)
def test_bad_input_is_refused_with_its_line(lines: list[str], message: str) -> None:
    with pytest.raises(FormatError) as caught:
        judged(*lines)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 1_000


@pytest.mark.parametrize(("thread", "invoked", "is_right"), [(0, 2, True), (1, 1, True), (0, 1, False)])
def test_a_thread_of_a_history_makes_one_call_at_a_time(thread: int, invoked: int, is_right: bool) -> None:
    first = LATE.replace("OUTCOME", '{"result": []}')
    second = first.replace('"thread": 0', f'"thread": {thread}').replace('"invoked": 1', f'"invoked": {invoked}')
    lines = ('{"schema": "kcache/history/1", "indexes": []}', first, second)
    if is_right:
        assert judged(*lines).verdict.status is Status.OK
        return
    with pytest.raises(FormatError, match="line 3: thread 0 begins a call before its call of line 2 has returned"):
        judged(*lines)


def test_recording_that_is_cut_off_says_so() -> None:
    with pytest.raises(FormatError, match="line 3, the last one, is cut off"):
        judge_recording(lambda: [f"{HEADER}\n", f"{ADD}\n", ADDED[:20]])


def test_events_cannot_express_two_calls_of_a_thread_at_once() -> None:
    first, second = (Call(0, call.operation, 1, 3, call.outcome) for call in Simulator(1).correct(1, 2).calls)
    with pytest.raises(ValueError, match="thread 1 begins a second call at 1"):
        list(dump_events(History((), (first, second))))
