"""Failing interleavings as people read them: what is recorded, how it is named, what is shown."""

from __future__ import annotations

import functools
import json
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kcache_conformance.report.interleaving import interleaving_text
from kcache_conformance.report.interleaving_rows import rows_to_show
from kcache_model.indexers import operations as op
from kcache_model.indexers.items import Item
from kcache_model.indexers.operations import Operation
from kcache_model.indexers.program import Program
from kcache_model.interleaving import Interleaving, InterleavingEvent, decode_interleaving, encode_interleaving
from kcache_stress.engine.counterexample import replayed
from kcache_stress.engine.execution import Problem
from kcache_stress.engine.granularity import Granularity
from kcache_stress.engine.preemption_bounded import PreemptionBounded
from kcache_stress.engine.schedule import schedule_of
from kcache_stress.engine.search import SearchLimits, search
from kcache_stress.indexers.exploration import explored_indexer
from kcache_stress.strategies.partial_order_sampling import PartialOrderSampling
from kcache_stress.trace.naming import MISSING, Names, is_attribute, peek
from kcache_stress.trace.renderer import render_interleaving

TARGETS = Path(__file__).parents[1] / "examples" / "targets"

Golden = Callable[[str, str], None]


def item(key: str, stamp: str, value: str) -> Item:
    return Item(key, stamp, {"node": (value,)})


def program(*threads: tuple[Operation, ...]) -> Program:
    return Program(("node",), (op.add(item("a", "v0", "n1")),), threads)


UPDATE = op.update(item("a", "v1", "n2"))
LOOK_UP = program((UPDATE,), (op.by_index("node", "n1"),))
GET = program((UPDATE,), (op.get_by_key("a"),))
TWICE = program((UPDATE, op.by_index("node", "n1")), (op.update(item("a", "v2", "n1")), op.by_index("node", "n2")))


@functools.cache
def found(spec: str, todo: Program) -> tuple[Interleaving, Problem]:
    """The first problem with the fewest preemptions, told; nothing here depends on how fast the machine is."""
    subject = explored_indexer(spec)
    runner = subject.runner(todo)
    judge = subject.judge(todo, runner)
    for preemptions in range(4):
        result = search(runner, PreemptionBounded(preemptions), judge, SearchLimits(executions=5_000))
        if result.execution is not None:
            schedule = schedule_of(result.execution.trace, Granularity.FREE)
            _, problem, _ = replayed(runner, judge, schedule)
            assert problem is not None
            return render_interleaving(runner, schedule, subject.texts(todo, runner), problem), problem
    raise AssertionError(f"nothing is wrong with {spec}")


def target(name: str) -> str:
    return f"{TARGETS / name}.py:new_indexer"


# Whole reports


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("name", "todo"),
    [
        ("lookup_in_two_steps", LOOK_UP),
        ("unlocked_get", GET),
        ("torn_sequence_lock", LOOK_UP),
        ("lock_order_inversion", TWICE),
        ("event_cleared_late", TWICE),
    ],
)
def test_reports_are_as_they_were(name: str, todo: Program, golden: Golden) -> None:
    golden(f"interleaving_{name}", interleaving_text(found(target(name), todo)[0]))


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("name", "todo"), [("lookup_in_two_steps", LOOK_UP), ("lock_order_inversion", TWICE), ("lost_wakeup", TWICE)]
)
def test_no_line_is_wider_than_the_report_and_none_names_the_machine(name: str, todo: Program) -> None:
    text = interleaving_text(found(target(name), todo)[0])
    assert max(map(len, text.splitlines())) <= 100
    narrow = interleaving_text(found(target(name), todo)[0], 60)
    assert max(map(len, narrow.splitlines())) <= 60
    assert "".join(narrow.split()).count("interruptedhere") == "".join(text.split()).count("interruptedhere")
    assert str(TARGETS) not in text
    assert "threading.py" not in text


def test_long_stories_are_folded() -> None:
    subject = explored_indexer(target("lost_wakeup"))
    runner = subject.runner(TWICE)
    judge = subject.judge(TWICE, runner)
    result = search(runner, PartialOrderSampling(1), judge, SearchLimits(executions=5_000))
    assert result.execution is not None
    schedule = schedule_of(result.execution.trace, Granularity.FREE)
    interleaving = render_interleaving(runner, schedule, subject.texts(TWICE, runner))
    assert len(interleaving.events) > 80
    assert len(rows_to_show(interleaving)) <= 70


# What is recorded


def only(interleaving: Interleaving, **wanted: object) -> InterleavingEvent:
    (happening,) = (
        happening
        for happening in interleaving.events
        if all(getattr(happening, name) == value for name, value in wanted.items())
    )
    return happening


def test_an_event_says_where_it_is_and_what_it_finds() -> None:
    interleaving, _ = found(target("unlocked_get"), GET)
    read = only(interleaving, thread=1, subject="indexer._items", slot="['a']")
    assert (read.kind, read.value, read.function) == ("read", MISSING, "get_by_key")
    assert read.code == "return self._items.get(key, default)"
    assert read.where.startswith("unlocked_get.py:")


def test_a_write_says_what_it_replaces_and_what_it_leaves() -> None:
    interleaving, _ = found(target("unlocked_get"), GET)
    writes = [
        (happening.value, happening.after, happening.held)
        for happening in interleaving.events
        if happening.subject == "indexer._items" and happening.kind == "write"
    ]
    assert writes == [("a@v0", MISSING, ("indexer._lock",)), (MISSING, "a@v1", ("indexer._lock",))]


def test_a_switch_says_whether_the_other_one_could_have_gone_on() -> None:
    interleaving, _ = found(target("unlocked_get"), GET)
    interrupted, done = [happening.switch for happening in interleaving.events if happening.switch is not None]
    assert (interrupted.thread, interrupted.is_preemption, interrupted.holding) == (0, True, ("indexer._lock",))
    assert (done.thread, done.is_preemption, done.ended) == (1, False, True)


def test_calls_know_their_events_and_outcomes() -> None:
    interleaving, _ = found(target("unlocked_get"), GET)
    update, get = interleaving.calls
    assert (update.text, update.outcome) == ("update(a@v1{node: n2})", "None")
    assert (get.text, get.outcome) == ("get_by_key(a)", "None")
    assert update.first < get.first <= get.last < update.last
    assert {interleaving.events[at].thread for at in range(get.first, get.last + 1)} == {1}


def test_a_deadlock_says_who_waits_for_what() -> None:
    interleaving, _ = found(target("lock_order_inversion"), TWICE)
    one, other = interleaving.waiting
    assert (one.what, one.holder, one.holding) == ("indexer._items_lock", 1, ("indexer._index_lock",))
    assert (other.what, other.holder, other.holding) == ("indexer._index_lock", 0, ("indexer._items_lock",))
    assert one.code == "with self._items_lock:"
    assert interleaving.afterwards == ()


def test_the_library_is_seen_from_outside() -> None:
    interleaving, _ = found(target("event_cleared_late"), TWICE)
    cleared = [happening for happening in interleaving.events if happening.slot == ".clear()"]
    assert {happening.subject for happening in cleared} == {"indexer._owner._mailbox._news"}
    assert {(happening.after, happening.code) for happening in cleared} == {("not set", "self._news.clear()")}
    assert interleaving.thread_names == {2: "owner"}
    answered = [happening for happening in interleaving.events if happening.subject == "Message#1.answered"]
    assert any(happening.wakes == (0,) for happening in answered)


def test_telling_changes_nothing() -> None:
    subject = explored_indexer(target("unlocked_get"))
    runner = subject.runner(GET)
    judge = subject.judge(GET, runner)
    result = search(runner, PreemptionBounded(1), judge)
    assert result.execution is not None
    schedule = schedule_of(result.execution.trace, Granularity.FREE)
    told = render_interleaving(runner, schedule, subject.texts(GET, runner))
    assert told.followed
    assert told == render_interleaving(runner, schedule, subject.texts(GET, runner))
    wrong = found(target("unlocked_get"), GET)[0]
    assert told == replace(wrong, summary="", wrong_call=None)
    assert decode_interleaving(json.loads(json.dumps(encode_interleaving(wrong)))) == wrong
    assert [call.outcome for call in told.calls] == ["None", "None"]
    execution, problem, followed = replayed(runner, judge, schedule)
    assert followed
    assert problem == result.problem
    assert len(execution.trace) == len(result.execution.trace)


HOSTILE = """
    from textbook import TextbookIndexer

    class Hostile:
        def __init__(self):
            self.touched = 0
        def __getattribute__(self, name):
            if name not in ("touched", "__class__", "__dict__"):
                raise SystemExit(name)
            return object.__getattribute__(self, name)
        def __repr__(self):
            raise SystemExit("repr")
        __str__ = __hash__ = __bool__ = __len__ = __iter__ = __repr__
        def __eq__(self, other):
            raise SystemExit("eq")

    class Odd(TextbookIndexer):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.hostile = Hostile()
            self.seen = [self.hostile, self]
        def get_by_key(self, key, default=None):
            self.hostile.touched += 1
            self.seen.append(self.hostile)
            found = self._items.get(key, default)
            return found

    def new_indexer(key_func, indexers):
        return Odd(key_func, indexers)
"""


def test_code_of_the_target_is_never_run(tmp_path: Path) -> None:
    (tmp_path / "textbook.py").write_text((TARGETS / "textbook.py").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "hostile.py").write_text(textwrap.dedent(HOSTILE), encoding="utf-8")
    interleaving, _ = found(f"{tmp_path / 'hostile.py'}:new_indexer", GET)
    touched = [happening for happening in interleaving.events if happening.subject == "indexer.hostile"]
    assert {(happening.kind, happening.value) for happening in touched} == {("read", "0"), ("write", "0")}
    assert touched[-1].after == "1"
    seen = only(interleaving, subject="indexer.seen", kind="write")
    assert seen.after == "[Hostile, Odd, Hostile]"


# Names


def test_names_follow_attributes_slots_and_containers() -> None:
    class Inner:
        __slots__ = ("lock",)

    class Outer:
        def __init__(self) -> None:
            self.inner = Inner()
            self.parts = {"x": [set(), set()]}

    names = Names("indexer")
    root = names.root = Outer()
    root.inner.lock = object()
    assert names.of(root.inner.lock) == "indexer.inner.lock"
    assert names.of(root.parts["x"][1]) == "indexer.parts['x'][1]"
    old = root.parts
    assert names.of(old) == "indexer.parts"
    root.parts = {}
    names.forget()
    assert names.of(root.parts) == "indexer.parts"
    assert names.of(old) == "former indexer.parts"
    assert [names.of({}), names.of({})] == ["dict#1", "dict#2"]


def test_values_are_short() -> None:
    names = Names("indexer")
    assert names.text({"a": [1, 2, 3, 4, 5, 6], "b": {"c": {"d": 1}}}) == "{'a': [1, 2, 3, 4, ...], 'b': {'c': {...}}}"
    assert names.text([(1,), (1, 2), ()]) == "[(1,), (1, 2), ()]"
    assert names.text({"y", "x"}) == "{'x', 'y'}"
    assert names.text({"none": {}, "of": set()}) == "{'none': {}, 'of': set()}"
    assert [names.text(empty) for empty in (set(), frozenset(), {}, [])] == ["set()", "frozenset()", "{}", "[]"]
    assert len(names.text("x" * 1_000)) < 40
    assert names.text(10**5_000) == "int"


def test_looking_into_a_slot() -> None:
    assert peek({"a": 1}, "a") == 1
    assert peek([1, 2], 1) == 2
    assert peek({"a"}, "a") == {"a"}
    kept = type("Kept", (dict,), {})(a=1)
    kept.count = 2
    assert (peek(kept, "a"), peek(kept, "count")) == (1, 2)
    assert (is_attribute(kept, "count"), is_attribute(kept, "a"), is_attribute({"a": 1}, "a")) == (True, False, False)
    with pytest.raises(LookupError):
        peek({}, "a")
    with pytest.raises(LookupError):
        peek(object(), "missing")
