"""Values of calls: results that are passed on, callables, blocks; identity of results; what makes a run complete."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NewType, Protocol, TypeVar

import pytest

from kcache_conformance.classes.pairs import belong_together
from kcache_conformance.classes.public_calls import public_calls
from kcache_conformance.classes.vocabulary_choice import vocabulary_of
from kcache_conformance.results.completeness import methods_report
from kcache_conformance.targets.class_names import class_type_name, parse_class_type_name
from kcache_conformance.targets.target_types import target_type_named
from kcache_model.errors import TargetError
from kcache_model.finding import FindingKind
from kcache_model.object_types.callbacks import Behaviour, Callback, CallbackForm, decode_callback
from kcache_model.object_types.method_call import RESULTS, Form, MethodCall, ResultOf
from kcache_model.object_types.plain import ObjectProgram, _script, plain_codec
from kcache_model.object_types.plain_driver import NOT_CALLED, PlainDriver
from kcache_model.object_types.smaller import smaller
from kcache_model.object_types.whole_blocks import end_of, is_whole, with_ends
from kcache_model.outcomes import raised, returned
from kcache_stress.objects.object_exploration import ObjectExplorationTarget
from kcache_stress.target.explore import ExploreOptions, explore
from stateful_tests.material.front_door import kinds

KINDS = Path(kinds.__file__)
ACQUIRE, RELEASE = MethodCall("acquire"), MethodCall("release", (ResultOf("acquire"),))


def exploration_target(name: str) -> ObjectExplorationTarget:
    spec = f"{KINDS}:{name}"
    exploring = target_type_named(class_type_name(spec)).exploring
    assert exploring is not None
    made = exploring.exploration_target(spec, (), ExploreOptions().granularity)
    assert isinstance(made, ObjectExplorationTarget)
    return made


def driver(kind: Callable[[], Any]) -> PlainDriver:
    return PlainDriver(kind, None)


class Numbers:
    """Numbers that are handed out, and taken back."""

    def __init__(self) -> None:
        self.taken: list[int] = []
        self._next = 0

    def acquire(self) -> int:
        self._next += 1
        return self._next

    def release(self, number: int) -> None:
        self.taken.append(number)

    def each(self, function: Callable[[], None]) -> int:
        function()
        return self._next


def test_a_call_takes_the_last_result_of_its_own_thread_then_the_one_before_else_those_of_the_set_up() -> None:
    made = driver(Numbers)
    for call, thread in (
        (ACQUIRE, -1),
        (ACQUIRE, 0),
        (ACQUIRE, 0),
        (ACQUIRE, 1),
        (RELEASE, 0),
        (RELEASE, 0),
        (RELEASE, 0),
        (RELEASE, 2),
        (RELEASE, 2),
    ):
        assert made.call(call, thread).error is None
    assert made.made.taken == [3, 2, 3, 1, 1]


def test_a_call_whose_value_was_never_returned_is_not_made() -> None:
    made = driver(Numbers)
    assert made.call(RELEASE, 0) == raised(NOT_CALLED)
    assert not made.made.taken
    assert not is_whole(ObjectProgram(threads=((RELEASE,), (ACQUIRE,)))), "the result of another thread is not taken"
    assert is_whole(ObjectProgram(prefix=(ACQUIRE,), threads=((RELEASE,), (RELEASE,))))


def test_names_say_which_calls_belong_together() -> None:
    for pair in (
        ("acquire", "release"),
        ("borrow", "give_back"),
        ("check_out", "check_in"),
        ("subscribe", "unsubscribe"),
    ):
        assert belong_together(*pair)
    assert not belong_together("acquire_read", "release_write")
    assert not belong_together("release", "acquire")


def test_callables_are_the_same_object_for_all_calls_on_one_object() -> None:
    records = Callback(Behaviour.RECORDS)
    made = driver(kinds.GoodBus)
    for name in ("subscribe", "unsubscribe"):
        assert made.call(MethodCall(name, (records,))).error is None
        assert made.call(MethodCall("publish", (1,))) == returned(1 if name == "subscribe" else 0)
    assert made.call(RESULTS) == returned(("callback called with (1)",))


def test_a_callback_may_call_back_or_raise() -> None:
    made = driver(kinds.GoodBus)
    assert made.call(MethodCall("subscribe", (Callback(Behaviour.RAISES),))).error is None
    assert made.call(MethodCall("publish", (1,))) == returned(1), "the bus goes on behind it"
    calls_back = Callback(Behaviour.CALLS_BACK, "acquire")
    numbers = driver(Numbers)
    assert numbers.call(MethodCall("each", (calls_back,))) == returned(1)
    assert numbers.made._next == 1


class Handlers:
    """Calls what it is given, or hands it to a loop."""

    def call(self, handler: Callable[[int], object]) -> None:
        handler(1)

    def run(self, coro: Coroutine[Any, Any, object]) -> object:
        return asyncio.run(in_a_task(coro))


async def in_a_task(coro: Coroutine[Any, Any, object]) -> object:
    return await asyncio.create_task(coro)


def test_the_result_of_an_async_callback_may_be_awaited_run_by_a_task_or_dropped() -> None:
    made = driver(Handlers)
    records = Callback(Behaviour.RECORDS, form=CallbackForm.ASYNC_FUNCTION)
    assert made.call(MethodCall("call", (records,))).error is None  # for a real coroutine, Python would warn
    assert made.call(RESULTS) == returned(("callback called with (1)",))
    returns, raises = (Callback(one, form=CallbackForm.COROUTINE) for one in (Behaviour.RETURNS, Behaviour.RAISES))
    assert [made.call(MethodCall("run", (returns,))) for _ in range(2)] == [returned(1)] * 2  # each gets a new one
    assert "CallbackError" in str(made.call(MethodCall("run", (raises,))).error)


@pytest.mark.parametrize("form", CallbackForm)
def test_callbacks_survive_json(form: CallbackForm) -> None:
    callback = Callback(Behaviour.RETURNS, form=form)
    assert decode_callback(callback.json()) == callback


def test_the_identity_of_results_is_told_by_the_calls_that_returned_them() -> None:
    get = MethodCall("value", form=Form.READ)
    shared, apart = (
        driver(kinds.GoodLazyProperty),
        driver(lambda: type("Maker", (), {"value": property(lambda _: [])})()),
    )
    for made in (shared, apart):
        assert made.call(get, 0) == made.call(get, 1), "each outcome alone says nothing of identity"
    assert shared.call(RESULTS).value == ("an object from value (call 1 of thread 1) and value (call 1 of thread 2)",)
    assert apart.call(RESULTS).value == (
        "a list from value (call 1 of thread 1)",
        "a list from value (call 1 of thread 2)",
    )


def test_public_attributes_of_results_are_compared_when_all_has_settled() -> None:
    made = driver(kinds.GoodLedger)
    begin, commit = MethodCall("begin"), MethodCall("commit", (ResultOf("begin"),))
    assert made.call(begin, 0) == returned("an Entry")
    assert made.call(RESULTS).value == ("Entry(is_done=False, number=1) from begin (call 1 of thread 1)",)
    assert made.call(commit, 0) == returned(1)
    assert made.call(RESULTS).value == ("Entry(is_done=True, number=1) from begin (call 1 of thread 1)",)


def test_a_result_that_answers_for_everything_is_described_without_asking_it() -> None:
    class Answers:
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(f"{name} was asked for")

    made = driver(lambda: [Answers()])
    assert made.call(MethodCall("__getitem__", (0,))) == returned("an Answers")
    assert made.call(RESULTS).value == ("an Answers from __getitem__ (call 1 before the threads)",)


def test_each_block_ends_in_the_thread_that_began_it() -> None:
    begin = MethodCall("held.enter", form=Form.ENTER)
    other = MethodCall("other")
    whole = with_ends(ObjectProgram(threads=((begin, other), (other, begin, end_of(begin), other))))
    assert whole.threads == ((begin, other, end_of(begin)), (other, begin, other, end_of(begin)))
    assert is_whole(whole)
    assert not is_whole(ObjectProgram(threads=((begin,), (end_of(begin),))))
    made = driver(kinds.GoodBlock)
    assert made.call(begin, 0) == returned(1)
    assert made.call(end_of(begin), 0) == returned(False)
    assert made.call(end_of(begin), 0) == raised(NOT_CALLED)


@pytest.mark.parametrize("name", ["BadPool", "BadBus", "BadBlock", "BadLevel", "BadTicket", "BadWalk"])
def test_each_call_survives_its_token_and_its_code_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = exploration_target(name)
    kind = made._object_type
    calls = tuple(next(template.smallest(0)) for template in kind.vocabulary)
    program = kind.completed(ObjectProgram(prefix=calls))
    assert kind.codec.decode_program(kind.codec.encode_program(program)) == program
    monkeypatch.syspath_prepend(str(KINDS.parent))
    exec(kind.script(program, f"kinds:{name}", {}), {})


def test_making_a_program_smaller_keeps_what_belongs_together() -> None:
    made = exploration_target("BadPool")
    program = ObjectProgram(threads=((ACQUIRE, RELEASE), (ACQUIRE, RELEASE, ACQUIRE)))
    seen: list[Any] = []

    def fails(candidate: Any) -> bool:
        seen.append(candidate)
        return any(call.name == "release" for call in candidate.operations())

    smallest = smaller(made._object_type, program, fails)
    assert all(map(is_whole, seen))
    assert sorted(call.name for call in smallest.operations()) == ["acquire", "release"]


P = TypeVar("P", bound=int)
Number = NewType("Number", int)


class Weighs(Protocol):
    def __call__(self, value: int) -> int: ...


class WellAnnotated:
    """Annotations that are hard to understand."""

    def bounded(self, value: P) -> P:
        return value + 1

    def named(self, value: Number) -> int:
        return value + 1

    def hashed(self, key: Hashable) -> None:
        hash(key)

    def called(self, weigh: Weighs) -> int:
        return weigh(1)

    def either(self, fn: Callable[[int], int] | None) -> int:
        return 0 if fn is None else fn(1)

    def by_name(self, *, callback, amount):  # type: ignore[no-untyped-def]
        return callback(amount + 1)

    @contextmanager
    def block(self, key: str) -> Iterator[str]:
        yield key

    @property
    def count(self) -> int:
        return 1

    @count.setter
    def count(self, value: int) -> None:
        value + 1


def test_annotations_never_leave_a_call_without_values() -> None:
    calls = public_calls(WellAnnotated, WellAnnotated())
    words = vocabulary_of(calls)
    assert not words.left_out
    made = driver(WellAnnotated)
    named = {template.name: next(template.smallest(0)) for template in words.templates}
    assert named.keys() >= {"block.enter", "block.exit", "count", "count.set", "by_name"}
    assert [str(call) for call in named.values() if made.call(call).error is not None] == []


class Picky:
    """Takes only what nobody would guess from a name."""

    def takes_text(self, value: int) -> str:
        return value.upper()  # type: ignore[attr-defined, no-any-return]

    def takes_list(self, value) -> int:  # type: ignore[no-untyped-def]
        value.append(1)
        return len(value)

    def takes_nothing_known_or_nothing(self, value: int = 1) -> None:
        raise PermissionError

    def takes_nothing_known(self, value: int) -> None:
        raise PermissionError


class Tried:
    """Makes calls on new objects of a class."""

    def __init__(self, kind: type) -> None:
        self._kind = kind

    def __call__(self, calls: Any) -> Any:
        made = driver(self._kind)
        return [made.call(call) for call in calls][-1]

    def result(self, calls: Any) -> object:
        made = driver(self._kind)
        for call in calls:
            made.call(call)
        return next(iter(made.results(calls[-1].name)[-1:]), None)


def test_values_are_chosen_anew_for_a_call_that_raises_whatever_it_gets() -> None:
    calls = public_calls(Picky, Picky())
    tried = Tried(Picky)
    words = {template.name: next(template.smallest(0)) for template in vocabulary_of(calls, tried).templates}
    assert tried((words["takes_text"],)) == returned("A")
    assert tried((words["takes_nothing_known_or_nothing"],)).error == "PermissionError"
    assert tried((words["takes_list"],)).error is None
    assert tried((words["takes_nothing_known"],)).error == "PermissionError"


class Locked:
    """Holds its lock while it calls others, as many right classes do."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def update(self, fn: Callable[[int], int]) -> int:
        with self._lock:
            return fn(1)

    def count(self) -> int:
        with self._lock:
            return 1


def test_a_callback_for_which_a_call_waits_for_ever_is_no_value(tmp_path: Path) -> None:
    spec = f"{Path(__file__)}:Locked"
    exploring = target_type_named(class_type_name(spec)).exploring
    assert exploring is not None
    made = exploring.exploration_target(spec, (), ExploreOptions().granularity)
    assert isinstance(made, ObjectExplorationTarget)
    (update,) = [one for one in made._object_type.vocabulary if one.name == "update"]
    assert {str(value) for value in update.arguments[0]} == {"returns", "raises"}


def test_a_run_is_complete_if_each_call_has_returned() -> None:
    coverages = [{"get": {"ok": 3}, "put": {"TypeError": 4}}, {"get": {"KeyError": 20}}]
    not_tested = ["close", "drop (async, which is not supported yet)", "what get returns (it differs from run to run)"]
    report = methods_report(["get", "put", "size"], not_tested, coverages)
    assert report.called == ("get",)
    assert dict(report.missing) == {
        "put": "it raised TypeError in all 4 calls",
        "size": "it was not called before the run ended",
        "drop": "async, which is not supported yet",
    }
    assert report.left_out[-2:] == (("close", ""), ("drop", "async, which is not supported yet"))
    assert report.not_compared == (("get", "it differs from run to run"),)
    assert report.mostly_raised == (("get", "KeyError in 86 % of 23 calls"),)
    assert not methods_report([], ["add"], coverages), "of other types nothing is asked"


def test_the_name_of_a_type_says_what_is_left_out() -> None:
    name = class_type_name("shop.py:Stock(2)", "shop.py:Plain", ("close", "open"))
    assert parse_class_type_name(name) == ("shop.py:Stock(2)", "shop.py:Plain", ("close", "open"))
    assert parse_class_type_name("class=shop:Stock") == ("shop:Stock", "", ())
    with pytest.raises(TargetError, match="no public method relase, so it cannot be left out; did you mean release"):
        target_type_named(class_type_name(f"{KINDS}:GoodPool", leave_out=("relase",))).load(f"{KINDS}:GoodPool")


MIXED = """
class Counts(dict):
    def __init__(self):
        super().__init__()
        self.total = 0

    def add(self, key):
        if key not in self:
            self[key] = 0
        self[key] = self[key] + 1
        return self[key]


class Total:
    def __init__(self):
        self.total = 0

    def add(self):
        self.total = 1
        return self.total
"""


def test_methods_in_c_and_attributes_that_are_read_are_accesses_of_the_object(tmp_path: Path) -> None:
    file = tmp_path / "mixed.py"
    file.write_text(MIXED, encoding="utf-8")

    def explored(name: str, *threads: MethodCall) -> Any:
        spec = f"{file}:{name}"
        exploring = target_type_named(class_type_name(spec)).exploring
        assert exploring is not None
        made = exploring.exploration_target(spec, (), ExploreOptions().granularity)
        return explore(made, ObjectProgram(threads=tuple((one,) for one in threads)), ExploreOptions(seconds=60.0))

    right = explored("Total", MethodCall("add"), MethodCall("total", (), is_write=False, form=Form.READ))
    assert (right.finding, right.is_exhausted, right.no_proof) == (None, True, "")
    in_c = explored("Counts", MethodCall("pop", ("b",)), MethodCall("pop", ("a",)), MethodCall("__setitem__", ("a", 2)))
    assert in_c.finding is None, "what comes before a write cannot be told to come after it"
    torn = explored("Counts", MethodCall("clear"), MethodCall("add", ("a",)))
    assert torn.finding is not None
    assert torn.finding.kind is FindingKind.EXCEPTION, "the key is gone between two steps of add"


READING = MethodCall("reading")
HOLD = MethodCall("result_of_reading.acquire", of=READING)
LET_GO = MethodCall("result_of_reading.release", of=READING, after=HOLD)
COUNT = MethodCall("result_of_reading.count", of=READING)
GIVE_BACK = MethodCall("result_of_reading.giveBack", of=READING)
WITH = MethodCall("result_of_reading.__enter__.enter", form=Form.ENTER, of=READING)
TAKE = MethodCall("take", (ResultOf("reading"),))


@pytest.mark.parametrize(
    ("thread", "completed"),
    [
        ([HOLD], [READING, HOLD]),
        ([LET_GO], [READING, HOLD, LET_GO]),
        ([READING, LET_GO], [READING, HOLD, LET_GO]),
        ([HOLD, READING, LET_GO], [READING, HOLD, READING, HOLD, LET_GO]),  # of the other object
        ([COUNT, COUNT], [READING, COUNT, COUNT]),
        ([LET_GO, COUNT], [READING, HOLD, LET_GO, READING, COUNT]),
        ([READING], [READING]),
        ([GIVE_BACK, GIVE_BACK], [READING, GIVE_BACK, READING, GIVE_BACK]),
        ([WITH, COUNT], [READING, WITH, COUNT, end_of(WITH)]),
        ([WITH, GIVE_BACK], [READING, WITH, READING, GIVE_BACK, end_of(WITH)]),
        ([WITH, WITH], [READING, WITH, READING, WITH, end_of(WITH), end_of(WITH)]),
        ([READING, TAKE, COUNT], [READING, TAKE, READING, COUNT]),
    ],
)
def test_calls_on_results_are_made_by_threads_that_have_them(
    thread: list[MethodCall], completed: list[MethodCall]
) -> None:
    program = with_ends(ObjectProgram((), (tuple(thread), (READING,))))
    assert program.threads == (tuple(completed), (READING,))
    assert is_whole(program)
    assert is_whole(ObjectProgram((), (tuple(thread), (READING,)))) == (thread == completed)
    assert not is_whole(ObjectProgram((READING, HOLD), ((LET_GO,), (READING,))))


def test_calls_on_results_survive_a_token() -> None:
    program = ObjectProgram((READING, HOLD), ((READING, HOLD, LET_GO), (READING, WITH, end_of(WITH))))
    codec = plain_codec(())
    again = codec.decode_program(json.loads(json.dumps(codec.encode_program(program))))
    assert again == program
    before = [(call.of, call.after) for call in program.operations()]
    assert [(call.of, call.after) for call in again.operations()] == before
    assert (READING, HOLD) in before


def test_blocks_of_results_are_written_as_python() -> None:
    assert WITH.code() == "context_of_result_of_reading = result_of_reading; context_of_result_of_reading.__enter__()"
    assert end_of(WITH).code() == "context_of_result_of_reading.__exit__(None, None, None)"
    assert (str(WITH), str(end_of(WITH))) == ("with result_of_reading", "end of with result_of_reading")
    lending = MethodCall("lending.enter", form=Form.ENTER)
    line = MethodCall("result_of_lending_enter.line", form=Form.READ, of=lending)
    assert (str(line), line.code()) == ("result_of_lending_enter.line", "result_of_lending_enter.line")
    called = MethodCall("result_of_call.stop", (1,), of=MethodCall("__call__"))
    assert (called.own_name, called.code()) == ("stop", "result_of_call.stop(1)")
    script = _script(ObjectProgram((), ((lending, line, end_of(lending)),)), "m:Lender", {})
    assert "result_of_lending_enter = context_of_lending.__enter__()" in script
    compile(script, "script", "exec")
