"""One run tells all that is wrong: a finding for each distinct symptom, with its rule; and nothing of what is right."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest

import kcache
from kcache.cli.console import phase_line
from kcache_conformance.indexers.sequential import run_program
from kcache_conformance.indexers.target_type import INDEXER
from kcache_conformance.phases.phase import PhaseOutcome
from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.phases.symptoms import KnownFindings, waiver_of
from kcache_conformance.report.counts import counts_text
from kcache_conformance.results.events import Event, PhaseFinished
from kcache_conformance.runs.jobs import _Turns
from kcache_conformance.runs.replays import replay_in_child, token_of_program
from kcache_conformance.runs.suite import run_suite
from kcache_conformance.targets.gallery import gallery
from kcache_model.call_program import serial_orders
from kcache_model.finding import Finding, FindingKind
from kcache_model.indexers import operations as op
from kcache_model.indexers.diagnosis import diagnosed
from kcache_model.indexers.items import Item, Semantics, Style
from kcache_model.indexers.program import Program
from kcache_model.indexers.reads import final_reads
from kcache_model.indexers.restrictions import restricted_program
from kcache_model.indexers.target import make_target
from kcache_model.interleaving import Interleaving, InterleavingEvent, Switch, Waiting
from kcache_model.outcomes import raised
from kcache_model.places import file_name, place_of
from kcache_model.verdict import Status
from kcache_stress.indexers.programs.random_programs import explorer_program
from kcache_stress.indexers.workload.short_programs import random_program

pytestmark = pytest.mark.usefixtures("written_recordings")

EXAMPLES = Path(__file__).parent.parent / "examples" / "targets"
QUICK = ("smoke", "recorded")

Override = Callable[..., Any]


def wrapped(**methods: Override) -> Callable[..., Any]:
    """A factory of right Indexers with these methods replaced; they get the right one as ``self.inner``."""

    class Wrapped:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def __getattr__(self, name: str) -> Any:
            return getattr(self.inner, name)

    for name, method in methods.items():
        setattr(Wrapped, name, method)
    return lambda key_func, indexers: Wrapped(kcache.new_indexer(key_func, indexers))


def rules_of(factory: Any, **options: Any) -> list[str]:
    result = run_suite(make_target(factory), SuiteOptions(**{"phases": QUICK, "budget_seconds": 60.0, **options}))
    return [finding.rule for finding in result.findings]


BROKEN: dict[str, tuple[str, dict[str, Override]]] = {
    "a live view": ("result-is-no-list", {"list": lambda self: {obj.key: obj for obj in self.inner.list()}.values()}),
    "a coroutine": ("coroutine-returned", {"list_keys": lambda self: _coroutine()}),
    "an unknown index": ("unknown-index-accepted", {"by_index": lambda self, name, value: _lookup(self, name, value)}),
    "a default": ("default-ignored", {"get_by_key": lambda self, key, default=None: self.inner.get_by_key(key)}),
    "a copy": ("copies-returned", {"get": lambda self, obj, default=None: _copy(self.inner.get(obj, default))}),
    "a truth value": ("falsy-object-lost", {"add": lambda self, obj: self.inner.add(obj) if obj else None}),
    "swallowed": ("index-function-error-swallowed", {"add": lambda self, obj: _swallowed(self.inner.add, obj)}),
    "twice": ("duplicate-results", {"index_keys": lambda self, name, value: self.inner.index_keys(name, value) * 2}),
    "an old version": ("wrong-resource-version", {"last_sync_resource_version": lambda self: "0"}),
}
"""What is wrong -> the rule that it breaks, the methods that break it."""


async def _nothing() -> None:
    return None


def _coroutine() -> Any:
    found = _nothing()
    found.close()
    return found


def _lookup(wrapper: Any, name: str, value: str) -> list[Any]:
    try:
        return wrapper.inner.by_index(name, value)
    except kcache.IndexNotFoundError:
        return []


def _copy(obj: Any) -> Any:
    if not hasattr(obj, "stamp"):
        return obj
    copied = object.__new__(type(obj))
    for name in ("key", "stamp", "values", "metadata"):
        setattr(copied, name, getattr(obj, name))
    return copied


def _swallowed(call: Override, obj: Any) -> None:
    try:
        call(obj)
    except kcache.IndexFuncError:
        return


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("empty_sets_left", r"\A(?=.*known findings repeated)(?=.*skipped because they fail in one thread)"),
        ("copy_on_write", r"\A(?!.*found before)(?!.*left out)"),
    ],
)
def test_the_line_of_a_phase_says_that_it_met_what_was_known(
    name: str, known: str, effort: Callable[[int, int], int]
) -> None:
    phases = ("smoke", "stateful", "explorer", "stress")
    target = f"{EXAMPLES / name}.py:new_indexer"
    result = run_suite(target, SuiteOptions(phases=phases, budget_seconds=inf, programs=effort(20, 60)))
    lines = [phase_line(phase).plain for phase in result.phases]
    assert re.search(known, "\n".join(lines), re.DOTALL)
    assert not any(line.endswith((",", " ")) for line in lines)
    if name == "empty_sets_left":
        smoke, stateful, explorer, _ = lines
        assert re.fullmatch(r"  smoke test +FAILED  known findings repeated 2 times", smoke)
        assert re.search(r"; known findings repeated \d+ times$", stateful)
        assert re.search(r", \d+ skipped because they fail in one thread", explorer)
        several = replace(result.phases[0], counts={"programs": 1}, findings=2)
        assert re.fullmatch(r"  smoke test +FAILED  2 findings", phase_line(several).plain)


@pytest.mark.parametrize(
    ("is_shown", "text"), [(True, "3 rounds; known findings repeated 3 times"), (False, "1 rounds")]
)
def test_a_phase_that_finds_what_is_known_says_how_often(is_shown: bool, text: str) -> None:
    known = _stale(op.add(A), op.list_keys())
    outcome = PhaseOutcome({"programs": 1}, known if is_shown else None)
    events: list[Event] = []
    options = SuiteOptions(phases=("stress",))
    found = KnownFindings(INDEXER.rules).adding(known)
    _Turns(options, lambda *_: outcome, lambda one: one, events.append, found, time.monotonic() + 60.0).run()
    assert [counts_text(event) for event in events if isinstance(event, PhaseFinished)] == [text]


@pytest.mark.one_in(3, start=1)  # another test has five of the others
@pytest.mark.parametrize(("rule", "methods"), BROKEN.values(), ids=BROKEN)
def test_each_fault_is_told_by_its_rule(rule: str, methods: dict[str, Override]) -> None:
    found = rules_of(wrapped(**methods))
    assert rule in found
    assert rule in INDEXER.rules


def test_what_is_right_breaks_no_rule() -> None:
    assert rules_of(wrapped()) == []


def test_index_functions_may_be_asked_for_all_objects_of_a_replacement() -> None:
    def ask_for_all(self: Any, objs: Any, resource_version: str = "") -> None:
        objs = list(objs)
        for obj in objs:
            for name, func in self.inner.get_indexers().items():
                try:
                    func(obj)
                except Exception as error:
                    raise kcache.IndexFuncError(None, name, error) from error
        self.inner.replace(objs, resource_version)

    def ask_for_the_first(self: Any, objs: Any, resource_version: str = "") -> None:
        first = {obj.key: obj for obj in reversed(list(objs))}
        self.inner.replace(first.values(), resource_version)

    first, failing, last = (Item("a", "v1"), Item("a", "v2", {"node": None}), Item("a", "v3", {"node": ("n1",)}))
    twice = op.replace((first, failing, last))
    program = Program(("node",), (op.add(Item("a", "v0", {"node": ("n2",)})), twice, op.list_objects()))
    for method, is_right in ((ask_for_all, True), (ask_for_the_first, False)):
        target = make_target(wrapped(replace=method))
        assert (run_program(target, program) is None) is is_right


def test_several_faults_are_found_in_one_run() -> None:
    """One of them shows in every program with a list, and hides none of the others."""
    names = ("a live view", "an unknown index", "a default", "swallowed", "twice")
    methods = {name: method for one in names for name, method in BROKEN[one][1].items()}
    found = rules_of(wrapped(**methods), budget_seconds=240.0)
    assert {BROKEN[name][0] for name in names} <= set(found)
    assert len(rules_of(wrapped(**methods), most_findings=1)) == 1


def test_one_instance_for_all_is_told() -> None:
    shared = kcache.new_indexer(lambda obj: obj.key, {})
    assert "instance-shared" in rules_of(lambda key_func, indexers: shared, phases=("smoke",))


def test_what_is_declared_is_not_told() -> None:
    for name, declaration in (("an unknown index", "unknown_index"), ("a truth value", "falsy_objects")):
        rule, methods = BROKEN[name]
        assert rule not in rules_of(wrapped(**methods), declared=(declaration,))


def test_one_thread_looks_nothing_up_in_unknown_indices_where_that_is_declared() -> None:
    def values(self: Any, index: str) -> Any:
        return self.inner.list_index_func_values(index) if index in self.inner.get_indexers() else {}[index]

    factory, program = wrapped(list_index_func_values=values), Program((), (op.list_index_func_values("nope"),))
    finding = run_program(make_target(factory), program)
    assert finding is not None
    assert finding.rule == "unexpected-error"
    assert run_program(make_target(factory, unsupported=["unknown_index"]), program) is None


def test_threads_do_not_look_up_unknown_indices_where_that_is_declared() -> None:
    def unknown(*unsupported: str) -> set[str]:
        target = make_target(kcache.new_indexer, unsupported=unsupported)
        found: set[str] = set()
        for seed in range(300):
            explored = explorer_program(seed, target, Semantics.CLASSIC)
            stressed = random_program(seed, target, Semantics.CLASSIC)
            for where, program in (("explorer", explored), ("stress", stressed)):
                operations = (*program.operations(), *final_reads(program, target))
                found |= {where for one in operations if one.index is not None and one.index not in program.indexes}
        return found

    assert unknown() == {"explorer", "stress"}
    assert unknown("unknown_index") == set()


def test_waivers_make_no_violation_and_hide_nothing_else() -> None:
    methods = {**BROKEN["a default"][1], **BROKEN["an old version"][1]}
    options = SuiteOptions(phases=QUICK, budget_seconds=120.0, waived=("default-ignored",))
    result = run_suite(make_target(wrapped(**methods)), options)
    assert result.status is Status.VIOLATION
    told = {finding.rule: finding.is_waived for finding in result.findings}
    assert told["default-ignored"]
    assert not told["wrong-resource-version"]
    both = SuiteOptions(phases=QUICK, budget_seconds=120.0, waived=("default-ignored", "wrong-resource-version"))
    assert run_suite(make_target(wrapped(**methods)), both).status is Status.OK
    one = next(finding for finding in result.findings if finding.rule == "wrong-resource-version")
    assert waiver_of(one, INDEXER.rules).startswith("wrong-resource-version:")


def test_the_phases_behind_one_that_hangs_are_run() -> None:
    def hang(self: Any, obj: Any, default: Any = None) -> Any:
        while True:
            time.sleep(1)

    options = SuiteOptions(phases=("smoke", "recorded"), budget_seconds=240.0, patience_seconds=0.5)
    methods: dict[str, Override] = {"get": hang, **BROKEN["an old version"][1]}
    result = run_suite(make_target(wrapped(**methods)), options)
    assert {finding.rule for finding in result.findings} >= {"hang", "wrong-resource-version"}
    assert [phase.phase for phase in result.phases] == list(options.phases)


def test_a_hang_under_the_state_machine_shows_the_target_alone() -> None:
    def hang(self: Any) -> Any:
        while True:
            time.sleep(1)

    options = SuiteOptions(phases=("stateful",), budget_seconds=240.0, patience_seconds=0.5)
    result = run_suite(make_target(wrapped(list_keys=hang)), options)
    (finding,) = result.findings
    assert finding.rule == "hang"
    assert "in hang" in finding.detail
    assert "hypothesis" not in finding.detail


A, FALSY = Item("a", "v1", {"node": ("n1",)}), Item("b", "v2", {"node": ("n1",)}, style=Style.FALSY)


def test_a_program_is_diagnosed_by_what_it_needs() -> None:
    program = Program(("node",), (op.add(A), op.add(FALSY), op.list_keys()))
    target = make_target(wrapped(**BROKEN["a truth value"][1]))

    def run(candidate: Program, judged: Any) -> Finding | None:
        return run_program(judged, candidate)

    finding = run(program, target)
    assert finding is not None
    assert finding.rule == "object-missing"
    assert diagnosed(finding, target, run).rule == "falsy-object-lost"
    spared = restricted_program(program, make_target(lambda key_func, indexers: None, unsupported=["falsy_objects"]))
    assert run(spared, target) is None


def test_an_exception_is_told_with_its_line() -> None:
    def list_keys(self: Any) -> Any:
        return None.deep  # type: ignore[attr-defined]

    result = run_suite(make_target(wrapped(list_keys=list_keys)), SuiteOptions(phases=("smoke",)))
    finding = next(finding for finding in result.findings if finding.rule == "unexpected-error")
    assert f"test_all_findings.py:{list_keys.__code__.co_firstlineno + 1} in list_keys" in finding.location


def test_a_place_is_neither_ours_nor_of_the_library() -> None:
    with pytest.raises(ValueError, match="invalid literal") as caught:
        int("x")
    assert place_of(caught.value).endswith("in test_a_place_is_neither_ours_nor_of_the_library")
    assert place_of(ValueError()) == ""


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/lib/cachetools/__init__.py", "cachetools/__init__.py"),
        ("/lib/shop/__main__.py", "shop/__main__.py"),
        ("/lib/shop/store.py", "store.py"),
        ("__init__.py", "__init__.py"),
        ("<string>", "<string>"),
        ("", ""),
    ],
)
def test_a_file_that_many_packages_have_is_named_with_its_folder(path: str, name: str) -> None:
    assert file_name(path) == name


def test_a_state_that_an_earlier_write_left_wrong_is_known() -> None:
    known = KnownFindings(INDEXER.rules).adding(_stale(op.replace((A,)), op.list_keys()))
    assert known.has(_stale(op.replace((A,)), op.add(A), op.list_keys()))
    assert not known.has(_stale(op.add(A), op.list_keys()))
    assert not known.has(replace(_stale(op.replace((A,)), op.list_keys()), rule="object-missing"))
    other = KnownFindings(INDEXER.rules).adding(replace(_stale(op.add(A)), rule="wrong-result"))
    assert not other.has(replace(_stale(op.add(A), op.list_keys()), rule="wrong-result"))


def _stale(*operations: Any) -> Finding:
    program = Program(("node",), operations)
    return Finding(FindingKind.DIVERGENCE, "smoke", "", program, step=len(operations) - 1, rule="stale-index-entry")


def test_what_hung_is_not_called_again() -> None:
    program = Program((), (op.add(A), op.list_keys()))
    known = KnownFindings(INDEXER.rules).adding(Finding(FindingKind.HANG, "smoke", "", program))
    assert known.spared == {"list_keys"}


EVENT = InterleavingEvent(1, 0, "read", "x", "", "", "", "a.py:1", "", "f", (), None, (), path="src/a.py")
INTERRUPTED = Switch(0, is_preemption=True, ended=False, holding=(), waits_for="", holder=None)


def interleaved(*events: InterleavingEvent) -> Interleaving:
    return Interleaving(2, {}, events, (), (), (), (), (), followed=True)


def concurrent(rule: str, *events: InterleavingEvent) -> Finding:
    program = Program((), (), ((op.add(A),), (op.list_keys(),)))
    told = interleaved(*events) if events else None
    return Finding(FindingKind.NONLINEARIZABLE, "", "", program, rule=rule, interleaving=told)


def test_races_are_told_apart_by_the_functions_that_meet() -> None:
    other = replace(EVENT, thread=1, switch=INTERRUPTED, where="b.py:2", path="src/b.py")
    reader = replace(EVENT, thread=1, where="b.py:3", path="src/b.py", meets=True, slot=".x")
    assert interleaved(EVENT, other, reader).interrupted_at == "src/a.py:1"
    assert interleaved(EVENT, other, reader).conflicts == ({"src/a.py in f: .x", "src/b.py in f: .x"},)
    assert interleaved(EVENT, reader).conflicts == ()
    assert replace(interleaved(EVENT, other, reader), is_interrupted=False).interrupted_at == ""
    known = KnownFindings(INDEXER.rules).adding(concurrent("stale-read", EVENT, other, reader))
    assert known.has(concurrent("stale-read", EVENT, other, reader))
    assert known.has(concurrent("stale-read", EVENT, other, replace(reader, where="b.py:9", function="g")))
    assert not known.has(concurrent("stale-read", EVENT, other, replace(reader, slot=".y")))
    writer = replace(EVENT, function="h")
    assert not known.has(concurrent("stale-read", writer, other, replace(reader, function="g")))
    assert not known.has(concurrent("torn-replace", EVENT, other, reader))
    assert known.has(concurrent("stale-read")), "real threads show no lines"
    assert not known.has(concurrent("torn-replace"))


def test_a_race_is_on_what_the_interrupted_thread_had_touched_and_touches_again() -> None:
    began = replace(EVENT, reads=(1,), writes=(2,))
    lock = replace(EVENT, thread=1, switch=INTERRUPTED, function="g", slot="", meets=True, writes=(3,))
    total = replace(EVENT, thread=1, function="g", slot=".total", meets=True, writes=(1,))
    told = interleaved(began, lock, total, replace(EVENT, writes=(1,)))
    assert told.conflicts == ({"src/a.py in f: .total", "src/a.py in g: .total"},)


def test_deadlocks_that_share_a_line_are_one() -> None:
    def deadlock(*waits: tuple[str, str]) -> Finding:
        waiting = tuple(Waiting(at, "a lock", None, where, "", name, ()) for at, (where, name) in enumerate(waits))
        told = replace(interleaved(EVENT), waiting=waiting)
        return replace(concurrent("deadlock"), kind=FindingKind.DEADLOCK, interleaving=told)

    known = KnownFindings(INDEXER.rules).adding(deadlock(("a.py:1", "get"), ("a.py:5", "info")))
    assert known.has(deadlock(("a.py:5", "info"), ("a.py:9", "put")))
    assert not known.has(deadlock(("a.py:7", "take"), ("a.py:9", "put")))


def test_what_one_line_raises_is_one_finding_whatever_calls_lead_there() -> None:
    def failed(operation: Any, location: str = "store.py:7 in _index", error: str = "TypeError: x") -> Finding:
        found = _stale(op.add(A), operation)
        observed = replace(raised("other", error), where=location)
        return replace(found, kind=FindingKind.EXCEPTION, rule="unexpected-error", location=location, observed=observed)

    known = KnownFindings(INDEXER.rules).adding(failed(op.update(A)))
    assert known.has(failed(op.delete(A)))
    assert known.has(replace(failed(op.delete(A)), rule="several-values-mishandled"))
    assert not known.has(failed(op.delete(A), location="store.py:9 in delete"))
    assert not known.has(failed(op.delete(A), error="KeyError: x"))
    accepted = KnownFindings(INDEXER.rules).adding(replace(failed(op.update(A)), is_waived=True))
    assert accepted.has(failed(op.update(A)))
    assert not accepted.has(failed(op.delete(A)))


def test_a_decision_of_the_implementation_is_told_once() -> None:
    known = KnownFindings(INDEXER.rules).adding(replace(_stale(op.replace((A,))), rule="failed-write-applied"))
    assert known.has(replace(_stale(op.update(A)), rule="failed-write-applied"))
    assert not known.has(replace(_stale(op.update(A)), rule="stale-index-entry"))


def test_an_interleaving_takes_the_place_of_what_real_threads_showed() -> None:
    threads, told = concurrent("stale-read"), concurrent("stale-read", EVENT)
    known = KnownFindings(INDEXER.rules).adding(concurrent("torn-replace")).adding(threads)
    assert known.adding(told).findings == (concurrent("torn-replace"), told)
    assert known.adding(told).has(threads)
    assert known.adding(replace(told, interleaving=None)).findings[1:] == (threads, threads)
    alone = _stale(op.add(A))
    assert KnownFindings(INDEXER.rules).adding(alone).adding(replace(told, rule=alone.rule)).findings[0] is alone


def test_what_is_shown_again_has_the_rule_that_it_had() -> None:
    program = Program(("node",), (op.add(replace(A, style=Style.FALSY)), op.get_by_key("a")))
    spec = next(str(one.path) for one in gallery() if one.path.stem == "falsy_objects_missing")
    finding = replay_in_child(INDEXER, token_of_program(INDEXER, f"{spec}:new_indexer", program)).finding
    assert finding is not None
    assert finding.rule == "falsy-object-lost"


def test_serial_orders_are_all_orders_that_threads_admit() -> None:
    one, two, three = op.list_keys(), op.list_objects(), op.resync()
    program = Program((), (op.add(A),), ((one, two), (), (three,)))
    orders = [order.prefix[1:] for order in serial_orders(program)]
    assert orders == [(one, two, three), (one, three, two), (three, one, two)]
    assert all(order.threads == () for order in serial_orders(program))


def test_what_real_threads_show_is_new_until_something_of_its_rule_is_confirmed() -> None:
    doubtful = replace(concurrent("stale-read", EVENT), unconfirmed="real threads did not fail")
    threads = concurrent("stale-read")
    known = KnownFindings(INDEXER.rules).adding(doubtful)
    assert not known.has(threads)
    assert known.adding(threads).findings == (doubtful, threads)
    assert KnownFindings(INDEXER.rules).adding(threads).adding(doubtful).findings == (threads, doubtful)
    assert known.adding(threads).has(threads)
