"""Any class as a target: what its calls give in threads must be what they give in some order in one."""

from __future__ import annotations

import enum
import functools
import itertools
import random
import re
import sys
import unittest
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from math import inf
from pathlib import Path
from typing import Any, Literal, Optional

import pytest

from kcache import Semantics
from kcache.testing import in_threads, run_conformance, stress
from kcache_conformance.classes.probing import Probed
from kcache_conformance.classes.public_calls import public_calls
from kcache_conformance.classes.vocabulary_choice import vocabulary_of
from kcache_conformance.errors import ConformanceError
from kcache_conformance.objects.patient_caller import PatientCaller
from kcache_conformance.objects.programs import lonely_calls
from kcache_conformance.targets.class_names import class_type_name
from kcache_conformance.targets.target_types import target_type_named
from kcache_model.errors import TargetError
from kcache_model.finding import FindingKind
from kcache_model.history import Call
from kcache_model.indexers.probing import probe
from kcache_model.indexers.target import class_hint, make_target
from kcache_model.object_types.checking import check_calls
from kcache_model.object_types.plain import Functional, MethodCall, ObjectProgram
from kcache_model.object_types.replayed import ReplaySpecification
from kcache_model.object_types.specification import may_wait_for_ever
from kcache_model.outcomes import ANYTHING, WAITS, Outcome, raised, returned
from kcache_model.target_name import target_name
from kcache_model.verdict import Status
from kcache_stress.engine.execution import Execution
from kcache_stress.engine.strategy import Ending
from kcache_stress.judgement.call_judge import CallJudge
from kcache_stress.objects.object_exploration import ObjectExplorationTarget
from kcache_stress.target.explore import ExploreOptions, explore
from kcache_stress.target.replay import follow
from kcache_stress.target.replay_answer import ReplayAnswer
from stateful_tests.material.front_door import own_threads

EXAMPLES = Path(__file__).parent.parent / "examples" / "any_class"
STOCK = EXAMPLES / "stock.py"
MACHINES = EXAMPLES / "machines.py"
sell, refill = MethodCall("sell"), MethodCall("refill", (1,))


def exploration_target(target: str) -> ObjectExplorationTarget:
    exploring = target_type_named(class_type_name(target)).exploring
    assert exploring is not None
    made = exploring.exploration_target(target, (), ExploreOptions().granularity)
    assert isinstance(made, ObjectExplorationTarget)
    return made


@pytest.mark.parametrize(("target", "is_so"), [(f"{own_threads.__file__}:HastyNotes", True), (f"{STOCK}:Stock", False)])
def test_halves_of_steps_are_an_excuse_only_in_a_class_with_threads(target: str, is_so: bool) -> None:
    assert exploration_target(target).excuses_own_threads(ObjectProgram()) is is_so


@pytest.mark.parametrize(
    "target", [f"{STOCK}:Stock", f"{STOCK}:Stock(2)", f"{MACHINES}:StockMachine", f"{MACHINES}:StockMachine()"]
)
def test_a_class_that_loses_updates_is_accused_and_the_finding_can_be_replayed(target: str) -> None:
    made = exploration_target(target)
    program = ObjectProgram(threads=((refill,), (refill, sell)))
    found = explore(made, program, ExploreOptions(seconds=60.0, candidates=ExploreOptions(executions=60)))
    assert found.finding is not None
    assert "No sequential order" in found.finding.summary
    token = target_type_named(class_type_name(target)).tokens.decode(found.finding.schedule)
    assert token.target == target
    from kcache_model.progress import NoProgress

    assert follow(made, token, NoProgress()).answer is ReplayAnswer.REPRODUCED


@pytest.mark.parametrize(
    "target",
    [f"{STOCK}:LockedStock", f"{STOCK}:LockedStock(2)", f"{MACHINES}:LockedMachine", f"{MACHINES}:LockedMachine()"],
)
def test_its_twin_passes_in_every_order(target: str) -> None:
    program = ObjectProgram(threads=((refill,), (refill, sell)))
    found = explore(exploration_target(target), program, ExploreOptions(seconds=60.0))
    assert found.finding is None
    assert found.is_exhausted, found.note


SHOP = """
class Shop:
    def __init__(self, goods):
        self._goods = goods

    @classmethod
    def opened(cls):
        return cls(1)

    def add(self):
        goods = self._goods
        self._goods = goods + 1
        return goods

class Counter(Shop):
    add = None

    def count(self):
        return self._goods
"""


def test_what_gives_an_object_makes_those_of_its_class(tmp_path: Path) -> None:
    (tmp_path / "shop_opened.py").write_text(SHOP, encoding="utf-8")
    makers = "from shop_opened import Counter, Shop\n\ndef racy():\n    return Shop(2)\n\ndef right(goods=2):\n"
    (tmp_path / "makers.py").write_text(f"{makers}    return Counter(goods)\n\ndef text():\n    return 'a'\n")
    add, count = MethodCall("add", ()), MethodCall("count", ())
    for name in ("shop_opened.py:Shop.opened", "makers.py:racy"):
        found = explore(
            exploration_target(f"{tmp_path / name}"),
            ObjectProgram(threads=((add,), (add,))),
            ExploreOptions(seconds=60.0),
        )
        assert found.finding is not None
        assert found.finding.status is Status.VIOLATION
    for name in ("shop_opened.py:Counter.opened", "makers.py:right", "makers.py:right(3)"):
        found = explore(
            exploration_target(f"{tmp_path / name}"),
            ObjectProgram(threads=((count,), (count,))),
            ExploreOptions(seconds=60.0),
        )
        assert found.finding is None
        assert found.is_exhausted
    for name, said in (
        ("makers.py:text", "returns a str, not an object of a class"),
        ("shop_opened.py:Shop", "write them"),
    ):
        with pytest.raises(TargetError, match=said):
            exploration_target(f"{tmp_path / name}")


def test_a_whole_run_finds_it_too() -> None:
    spec = f"{STOCK}:Stock"
    with pytest.raises(ConformanceError, match="No sequential order"):
        run_conformance(spec, type=class_type_name(spec), seconds=60, most_findings=1)


def test_a_model_decides_where_one_is_given() -> None:
    spec = f"{STOCK}:LockedStock"
    with pytest.raises(ConformanceError, match="expected: 1"):
        run_conformance(spec, type=class_type_name(spec, f"{STOCK}:Stock(2)"), phases=("smoke",), seconds=60)
    run_conformance(spec, type=class_type_name(spec, f"{STOCK}:Stock"), phases=("smoke",), seconds=60)


def test_the_model_of_a_machine_decides_in_one_thread() -> None:
    spec = f"{MACHINES}:WrongModel"
    with pytest.raises(ConformanceError, match="expected: 1"):
        run_conformance(spec, type=class_type_name(spec), phases=("smoke",), seconds=60)


def test_an_invariant_is_looked_at() -> None:
    spec = f"{MACHINES}:WithInvariant"
    program = ObjectProgram(threads=((MethodCall("refill", (3,)),) * 2, (MethodCall("refill", (3,)),)))
    found = explore(
        exploration_target(spec), program, ExploreOptions(seconds=60.0, candidates=ExploreOptions(executions=60))
    )
    assert found.finding is not None
    assert "at_most_nine" in found.finding.summary


@pytest.mark.parametrize(
    ("target", "made"),
    [
        (f"{STOCK}:Stock(2)", "made"),
        (f"{MACHINES}:StockMachine", "subject"),
        (f"{MACHINES}:LockedMachine()", "subject"),  # with a model, which is not called
        (f"{MACHINES}:MadeStock", "subject"),
    ],
)
def test_the_code_of_a_program_runs(target: str, made: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = exploration_target(target)._object_type
    calls = [{"op": "refill", "arguments": [3]}, {"op": "sell"}]
    program = kind.codec.decode_program({"prefix": calls, "threads": [calls]})
    monkeypatch.syspath_prepend(EXAMPLES)
    found: dict[str, Any] = {}
    exec(kind.script(program, target, {}), found)
    assert found[made]._count == (6 if "(2)" in target else 5)


def test_the_code_of_an_invariant_fails_where_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = exploration_target(target := f"{MACHINES}:WithInvariant")._object_type
    calls = [{"op": "refill", "arguments": [3]}] * 3
    monkeypatch.syspath_prepend(EXAMPLES)
    for count, fails in ((2, False), (3, True)):
        program = kind.codec.decode_program({"prefix": [*calls[:count], {"op": "at_most_nine"}], "threads": []})
        with pytest.raises(AssertionError) if fails else nullcontext():
            exec(kind.script(program, target, {}), {})


def machine(name: str) -> Any:
    sys.path.insert(0, str(EXAMPLES))
    try:
        import machines
    finally:
        sys.path.remove(str(EXAMPLES))
    return getattr(machines, name)


def outcome_of(case: type[unittest.TestCase]) -> unittest.TestResult:
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    assert not result.errors, result.errors[0][1]
    return result


def test_the_test_case_of_a_machine_works_as_ever() -> None:
    assert outcome_of(machine("LockedMachine").TestCase).wasSuccessful()
    failed = outcome_of(machine("WrongModel").TestCase)
    assert "the model gave" in failed.failures[0][1]


@pytest.mark.parametrize("made", [in_threads, stress])
def test_a_test_case_in_threads_fails_where_the_class_is_wrong(made: Callable[..., type[unittest.TestCase]]) -> None:
    failed = outcome_of(made(machine("StockMachine"), seconds=60))
    assert "No sequential order" in failed.failures[0][1]


def test_a_test_case_in_threads_passes_where_it_is_right() -> None:
    assert outcome_of(in_threads(machine("LockedMachine"), seconds=1)).wasSuccessful()


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (f"{MACHINES}:NoRules", "has no rules"),
        (f"{MACHINES}:OddValues", "count may be .* which is not plain"),
        (f"{MACHINES}:WithBundle", "count cannot be drawn without a run of Hypothesis, which bundles"),
        (f"{MACHINES}:NoSubject", r"has no subject\(\)"),
        (f"{STOCK}:nothing", "has no nothing"),
        (f"{STOCK}:Stock(1, 2, 3)", "creating an object of .* raised TypeError"),
        (f"{STOCK}:Stock(x)", "the arguments must be plain values"),
        ("collections:ChainMap.fromkeys", "if it needs arguments, write them"),
        ("string:digits", "is a str, not a class"),
    ],
)
def test_what_cannot_be_used_is_one_clear_line(target: str, text: str) -> None:
    with pytest.raises(TargetError, match=text):
        target_type_named(class_type_name(target)).load(target)


class Colour(enum.Enum):
    RED = 1


class Signatures:
    def __init__(self) -> None:
        self.count = 0
        self.items: list[int] = []
        self._hidden = 1

    def plain(self, key: str, value: int, flag: bool) -> None: ...

    def untyped(self, key, value): ...

    def anything(self, key: Hashable, value: Any) -> None: ...

    def optional(self, value: Optional[int], other: "int | str" = 3) -> None: ...  # noqa: UP037, UP045

    def literal(self, mode: Literal["r", "w"]) -> None: ...

    def callback(self, then: Callable[[], None]) -> None: ...

    def coloured(self, colour: Colour) -> None: ...

    def keyword(self, *, needed: int) -> None: ...

    def many(self, *args: int, **more: int) -> None: ...

    async def later(self) -> None: ...

    @functools.cached_property
    def kept(self) -> int: ...

    def _private(self) -> None: ...

    @classmethod
    def made(cls) -> None: ...

    def __getitem__(self, key: str) -> int: ...

    def __len__(self) -> int: ...


def test_the_vocabulary_of_a_class_comes_from_its_signatures() -> None:
    calls = public_calls(Signatures, Signatures())
    found = vocabulary_of(calls)
    known = {template.name: list(template.smallest(0)) for template in found.templates}
    assert known.keys() == {
        *("plain", "untyped", "anything", "optional", "literal", "coloured", "many", "__getitem__", "__len__", "count"),
        *("callback", "keyword", "kept", "later"),
    }
    assert not found.left_out
    assert [str(call) for call in known["later"]] == ["await later()"]
    assert [str(call) for call in known["callback"]] == ["callback(returns)", "callback(calls_many)"]
    assert "keyword(needed=1)" in map(str, known["keyword"])
    assert MethodCall("plain", ("a", 1, True)) in known["plain"]
    assert MethodCall("untyped", ("b", 2)) in known["untyped"]
    assert MethodCall("optional", (None,)) in known["optional"]
    assert {call.arguments for call in known["literal"]} == {("r",), ("w",)}
    assert [str(call) for call in known["coloured"]] == ['coloured(Colour["RED"])']
    assert [str(call) for call in known["count"]] == ["count"]


def test_results_that_differ_from_time_to_time_are_not_compared() -> None:
    specification = ReplaySpecification(lambda _: returned(random.random()))
    assert specification.effects((), sell) == [((sell,), ANYTHING)]
    assert specification.unsteady == {"sell"}
    assert returned(1).agrees_with(ANYTHING, strict_errors=True)
    assert raised("KeyError").agrees_with(ANYTHING, strict_errors=True)
    assert not WAITS.agrees_with(ANYTHING)


def test_what_differs_from_time_to_time_accuses_nobody_although_it_was_replayed_once() -> None:
    numbers = itertools.count()
    specification = ReplaySpecification(lambda _: returned(next(numbers)), is_trusting=True)
    assert specification.effects((), sell) == [((sell,), returned(0))]
    assert not specification.look_again([refill])
    assert specification.look_again([refill, sell])
    assert specification.effects((), sell) == [((sell,), ANYTHING)]
    assert not specification.look_again([refill, sell])
    call = Call(0, refill, 0, 1, returned("other"))
    assert check_calls(specification, (), [call]).status is Status.OK


@pytest.mark.parametrize("varies", [True, False])
def test_executions_are_judged_again_if_what_they_are_compared_with_varies(varies: bool) -> None:
    numbers = itertools.count() if varies else itertools.repeat(0)
    specification = ReplaySpecification(lambda _: returned(next(numbers)), is_trusting=True)
    program = ObjectProgram((), ((refill,),))
    judge = CallJudge(specification, program, lambda _: ())
    execution = Execution(Ending.COMPLETE, [], 1, [[(0, 0)]], [[returned("other")]])
    problem = judge.judge(execution)
    assert (problem is None) == varies
    assert problem is None or problem.kind is FindingKind.NONLINEARIZABLE
    assert specification.unsteady == ({"refill"} if varies else set())


def test_what_does_not_differ_is_replayed_twice_before_it_accuses() -> None:
    made: list[Any] = []

    def replay(calls: Any) -> Outcome:
        made.append(calls[-1].name)
        return returned(1)

    specification = ReplaySpecification(replay, is_trusting=True)
    assert check_calls(specification, (), [Call(0, refill, 0, 1, returned(1))]).status is Status.OK
    assert made == ["refill"]
    assert check_calls(specification, (), [Call(0, refill, 0, 1, returned(2))]).status is Status.VIOLATION
    assert made == ["refill"] * 2


def test_a_call_that_waits_has_no_effect() -> None:
    specification = ReplaySpecification(lambda calls: WAITS if calls[-1] == sell else Outcome())
    assert specification.effects((), sell) == ()
    assert specification.effects((), refill) == [((refill,), Outcome())]


def test_a_call_that_waits_is_waited_for_once() -> None:
    made: list[Any] = []

    def replay(calls: Any) -> Outcome:
        made.append(calls)
        return WAITS if calls[-1] == sell else Outcome()

    specification = ReplaySpecification(replay)
    specification.effects((), sell)
    specification.effects((), refill)
    assert made == [(sell,), (refill,), (refill,)], "what returns is to do so each time"


@pytest.mark.parametrize(("then", "is_steady"), [([WAITS, returned(1)], True), ([WAITS, WAITS], False)])
def test_a_machine_that_stands_still_once_is_no_call_that_waits(then: list[Outcome], is_steady: bool) -> None:
    given = iter([returned(1), *then])
    specification = ReplaySpecification(lambda _: next(given))
    assert specification.effects((), sell) == [((sell,), returned(1) if is_steady else ANYTHING)]


WAITING = """
import threading


class Gate:
    def __init__(self):
        self._open = threading.Event()

    def enter(self):
        self._open.wait()

    def leave(self):
        self._open.{last}()

    def is_open(self):
        return self._open.is_set()

    def open(self):
        self._open.set()

    def shut(self):
        self._open.clear()
"""


class GateModel:
    def __init__(self, last: str) -> None:
        self.last = last

    def initial(self) -> bool:
        return False

    def apply(self, is_open: bool, call: MethodCall) -> tuple[bool, None] | None:
        waits = call.name == "enter" or (call.name, self.last) == ("leave", "wait")
        sets = call.name == "open" or (call.name, self.last) == ("leave", "set")
        return None if waits and not is_open else (sets or waits, None)


@pytest.mark.parametrize("last", ["wait", "set", "clear"])
def test_the_calls_of_a_class_that_wait_are_learnt_without_waiting(
    last: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = []
    call = PatientCaller.call

    def counted(*given: Any) -> tuple[Outcome, str]:
        outcome = call(*given)
        waits.append(outcome[0].waits)
        return outcome

    monkeypatch.setattr(PatientCaller, "call", counted)
    (tmp_path / "gate.py").write_text(WAITING.format(last=last), encoding="utf-8")
    made = exploration_target(f"{tmp_path / 'gate.py'}:Gate")
    calls = [MethodCall(name) for name in ("enter", "leave", "open", "shut")]
    pairs = [ObjectProgram(threads=pair) for pair in itertools.product(itertools.product(calls, repeat=2), repeat=2)]
    specifications = made._object_type.specification(pairs[0]), Functional(GateModel(last))
    found, expected = ([may_wait_for_ever(each, pair) for pair in pairs] for each in specifications)
    assert found == expected
    assert 50 < sum(found) < len(pairs) - 50
    assert not any(waits)


def test_a_name_with_arguments_is_taken_apart() -> None:
    found = target_name("package.module:Outer.Class(2, name='a:b')")
    assert (found.location, found.attribute) == ("package.module", "Outer.Class")
    assert found.applied(dict)() if found.attribute == "dict" else True
    assert target_name("x:dict(a=1)").applied(dict)() == {"a": 1}
    assert target_name("x:dict").applied(dict) is dict


def test_arguments_may_be_named(tmp_path: Path) -> None:
    (tmp_path / "named.py").write_text(STOCK.read_text(encoding="utf-8"), encoding="utf-8")
    spec = f"{tmp_path / 'named.py'}:Stock(count=2)"
    found = target_type_named(class_type_name(spec, f"{STOCK}:Stock(count=2)"))
    assert list(found.phases) == ["smoke", "stateful", "explorer", "stress"]


def test_what_calls_tell_of_the_time_is_left_out(tmp_path: Path) -> None:
    methods = ("def now(self): return time.time()", "def name(self): return 1")
    source = "".join(f"    {method}\n" for method in methods)
    (tmp_path / "watch.py").write_text(f"import time\n\n\nclass Watch:\n{source}", encoding="utf-8")
    spec = f"{tmp_path / 'watch.py'}:Watch"
    found = target_type_named(class_type_name(spec))
    assert found.not_tested(found.load(spec)) == ("what now returns (it differs from run to run)",)


@pytest.mark.parametrize("order", [*itertools.permutations(["add", "clear", "put"])], ids="-".join)
@pytest.mark.parametrize(("kept", "is_shared"), [("kept", True), ("KEPT", False), ("{}", False)])
def test_objects_that_share_state_are_refused(
    kept: str, is_shared: bool, order: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In whatever order their calls are tried: the quickest come first."""

    def timed(self: Probed, call: MethodCall) -> Outcome:
        self._seconds[call] = 0.001 * order.index(call.name)
        return self._tries(self._with_needed(call))

    monkeypatch.setattr(Probed, "_timed", timed)
    lines = (
        f"def __init__(self, kept={{}}): self.kept = {kept}",  # a default argument cannot be restored
        "def add(self, key): return self.kept.setdefault(key, len(self.kept))",
    )
    source = "".join(f"    {line}\n" for line in (*lines, "def clear(self): self.kept.clear()"))
    source += "    def put(self, key, value): self.kept[key] = value\n"
    (tmp_path / "shared.py").write_text(f"KEPT = {{}}\n\n\nclass Shared:\n{source}", encoding="utf-8")
    spec = f"{tmp_path / 'shared.py'}:Shared"
    if not is_shared:
        target_type_named(class_type_name(spec)).load(spec)
        return
    with pytest.raises(TargetError, match=r"share state.*: add\('a'\) returns . on a new object, but . on a new"):
        target_type_named(class_type_name(spec)).load(spec)


ONCE = "class Once:\n    made = []\n    def __init__(self):\n        if self.made: raise KeyError('made twice')\n"


def test_a_class_of_which_there_can_be_but_one_object_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "once.py").write_text(f"{ONCE}        self.made.append(1)\n    def call(self): ...\n", encoding="utf-8")
    with pytest.raises(TargetError, match=r"creating a second object of .* raised KeyError: 'made twice'"):
        target_type_named(class_type_name(spec := f"{tmp_path / 'once.py'}:Once")).load(spec)


OWNER = """
import contextlib, threading

class Owner:
    def __init__(self):
        self._lock = threading.Lock()
        self.owner = None
        self.count = 0

    def take(self):
        with LOCK:
            self.owner = threading.current_thread()
            self.count += 1
"""


@pytest.mark.parametrize(("lock", "is_right"), [("self._lock", True), ("contextlib.nullcontext()", False)])
def test_a_thread_that_is_kept_is_a_thread_wherever_it_runs(lock: str, is_right: bool, tmp_path: Path) -> None:
    (tmp_path / "owner.py").write_text(OWNER.replace("LOCK", lock), encoding="utf-8")
    spec = f"{tmp_path / 'owner.py'}:Owner"
    program = ObjectProgram(threads=((MethodCall("take", ()),),) * 2)
    found = explore(exploration_target(spec), program, ExploreOptions(seconds=60.0))
    assert (found.finding is None) == is_right


COUNTER = """
class Count:
    def __init__(self):
        self._value = WRONG

    def add(self, amount):
        self._value += amount

    def value(self):
        return self._value
"""


@pytest.mark.parametrize(("start", "is_right"), [("0", True), ("1", False)])
def test_a_standard_specification_serves(start: str, is_right: bool, tmp_path: Path) -> None:
    (tmp_path / "count.py").write_text(COUNTER.replace("WRONG", start), encoding="utf-8")
    spec = f"{tmp_path / 'count.py'}:Count"
    if is_right:
        run_conformance(spec, type=class_type_name(spec, "counter"), phases=("smoke",), seconds=60)
    else:
        with pytest.raises(ConformanceError, match="expected: "):
            run_conformance(spec, type=class_type_name(spec, "counter"), phases=("smoke",), seconds=60)


@pytest.mark.parametrize(("model", "text"), [("mutex", "has none of the calls of mutex: "), ("nope", "known are")])
def test_a_specification_that_does_not_fit_is_one_clear_line(model: str, text: str) -> None:
    spec = f"{STOCK}:Stock"
    with pytest.raises(TargetError, match=text):
        target_type_named(class_type_name(spec, model)).load(spec)


ALONE = """
import queue
import threading


class Locks:
    def __init__(self):
        self._lock = threading.Lock()

    def last(self):
        with self._lock:
            return 1

    def draw(self):
        with self._lock:
            return self.last()


class Queue:
    def __init__(self):
        self._items = queue.Queue()

    def get(self):
        return self._items.get()

    def put(self, item):
        self._items.put(item)


class Signal:
    def __init__(self):
        self._lock, self._waiters = threading.Lock(), []

    def wait(self):
        waiter = threading.Lock()
        waiter.acquire()
        with self._lock:
            self._waiters.append(waiter)
        waiter.acquire()

    def notify(self):
        with self._lock:
            while self._waiters:
                self._waiters.pop().release()


class Gate:
    def __init__(self):
        self._lock = threading.Lock()
        self._lock.acquire()

    def enter(self):
        self._lock.acquire()

    def open(self):
        self._lock.release()
"""


@pytest.mark.parametrize("name", ["Locks", "Queue", "Signal", "Gate"])
def test_a_call_that_waits_alone_is_accused_only_if_it_waits_for_itself(name: str, tmp_path: Path) -> None:
    (tmp_path / "alone.py").write_text(ALONE, encoding="utf-8")
    made = exploration_target(f"{tmp_path / 'alone.py'}:{name}")
    (program,) = lonely_calls(made._object_type, made.target)
    found = explore(made, program, ExploreOptions(seconds=60.0))
    assert (found.finding is not None) == (name == "Locks")
    assert found.finding is None or "held by thread 1" in found.finding.summary


POLLING = """
import threading
import time


class Flag:
    def __init__(self):
        self._on = False

    def set(self):
        self._on = True

    def wait(self):
        while not self._on:
            time.sleep(0.01)


class Polite:
    def __init__(self):
        self._lock, self._wanting = threading.Lock(), 0

    def _want(self, more):
        with self._lock:
            self._wanting += more

    def enter(self):
        self._want(1)
        while self._wanting > 1:
            time.sleep(0.01)
        self._want(-1)


class Restless(Polite):
    def enter(self):
        self._want(1)
        while self._wanting > 1:
            self._rest()
        self._want(-1)

    def _rest(self):
        time.sleep(0.01)
"""


def test_a_call_that_polls_alone_waits_for_others(tmp_path: Path) -> None:
    (tmp_path / "polling.py").write_text(POLLING, encoding="utf-8")
    made = exploration_target(f"{tmp_path / 'polling.py'}:Flag")
    (program,) = lonely_calls(made._object_type, made.target)
    explored = explore(made, program, ExploreOptions(seconds=inf))
    assert (explored.finding, explored.is_exhausted) == (None, True)


@pytest.mark.parametrize(("name", "kind"), [("Polite", FindingKind.DEADLOCK), ("Restless", FindingKind.LIVELOCK)])
def test_calls_that_wait_for_each_other_by_polling_are_found(name: str, kind: FindingKind, tmp_path: Path) -> None:
    (tmp_path / "polling.py").write_text(POLLING, encoding="utf-8")
    made = exploration_target(f"{tmp_path / 'polling.py'}:{name}")
    twice = ObjectProgram((), ((MethodCall("enter"),), (MethodCall("enter"),)))
    found = explore(made, twice, ExploreOptions(seconds=inf)).finding
    assert found is not None
    assert found.kind is kind


class Sized:
    def __init__(self, size: int) -> None:
        self.size = size


class SizedTwice(Sized):
    def __init__(self, size: int, other: int) -> None:
        super().__init__(other)


class Refusing(Sized):
    def __init__(self, size: Any, other: Any) -> None:
        raise TypeError("no sizes")


@pytest.mark.parametrize(
    ("kind", "arguments"), [(Sized, "size=..."), (SizedTwice, "size=..., other=..."), (Refusing, "size=..., other=...")]
)
def test_a_class_that_is_taken_for_an_indexer_is_told_how_it_is_checked(kind: Any, arguments: str) -> None:
    with pytest.raises(TargetError, match=re.escape(f"write its arguments: 'sized.py:Sized({arguments})'")):
        probe(make_target(kind, "sized.py:Sized"), Semantics.CLASSIC)


def test_a_function_is_told_how_its_objects_are_checked() -> None:
    hint = "To check the objects that it returns, write its arguments: 'sized.py:make(size=...)'"
    with pytest.raises(TargetError, match=re.escape(hint)):
        make_target(lambda size: Sized(size), "sized.py:make")  # type: ignore[arg-type,misc]
    assert class_hint(lambda key_func, indexers: None, "sized.py:make") == ""
