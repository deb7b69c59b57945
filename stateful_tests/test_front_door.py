"""What strangers meet first: ``kcache check CLASS`` on one class of each kind, each once buggy and once right."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from kcache.cli import main
from kcache_conformance.classes.public_calls import public_calls
from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.results.completeness import methods_report
from kcache_conformance.results.events import SuiteResult
from kcache_conformance.runs.suite import run_suite
from kcache_conformance.targets.class_names import class_type_name
from kcache_model.verdict import Status
from stateful_tests.material.front_door import (
    afterwards,
    functions_and_children,
    giving_up,
    kinds,
    newcomers,
    optional,
    own_threads,
    returned,
    uncommon,
)

KINDS = Path(kinds.__file__)
MODULES = (newcomers, giving_up, optional, own_threads, afterwards)
_FEW = {"GoodPool": 4, "GoodSums": 6, "GoodAlarm": 4, "GoodPulse": 6}
"""Of the programs with an executor, each takes a second or more."""
NAMES = [name.removeprefix("Bad") for name in vars(kinds) if name.startswith("Bad")]


def _named(prefix: str) -> list[tuple[ModuleType, str]]:
    """The classes beyond :mod:`kinds` whose names begin so."""
    return [(module, name) for module in MODULES for name in vars(module) if name.startswith(prefix)]


def checked(
    name: str, programs: int, *, leave_out: tuple[str, ...] = (), phases: tuple[str, ...] = (), file: Path = KINDS
) -> SuiteResult:
    """The result of a check of a class of :mod:`.front_door` that does a fixed amount of work."""
    spec = f"{file}:{name}"
    kind = class_type_name(spec, leave_out=leave_out)
    options = SuiteOptions(
        kind=kind, phases=phases or ("explorer",), programs=programs, budget_seconds=600.0, most_findings=1
    )
    return run_suite(spec, options)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", NAMES)
def test_a_faulty_class_is_found(name: str) -> None:
    result = checked(f"Bad{name}", 60)
    assert result.findings, result.reasons
    assert result.status is Status.VIOLATION, [finding.unconfirmed for finding in result.findings]


@pytest.mark.parametrize(("name", "programs"), [("BadMailbox", 16), ("BadExpiring", 72)])
def test_overtaken_waits_and_what_has_changed_are_tried_early(name: str, programs: int) -> None:
    assert checked(name, programs, file=Path(afterwards.__file__)).status is Status.VIOLATION


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", NAMES)
def test_its_right_twin_is_ok_and_each_of_its_methods_has_returned(name: str) -> None:
    result = checked(f"Good{name}", 12)
    assert not result.findings
    assert result.status is Status.OK, result.reasons
    bases = [base for base in getattr(kinds, f"Good{name}").__mro__ if base.__module__ == kinds.__name__]
    public = {name for base in bases for name in vars(base) if not name.startswith("_")}
    assert public <= {call.partition(".")[0] for call in result.methods.called}


def test_a_sync_method_may_run_an_event_loop() -> None:
    result = checked("LoopInMethods", 5)
    assert (result.status, result.methods.mostly_raised) == (Status.OK, ())


def test_methods_that_never_return_make_a_run_incomplete_unless_they_are_left_out() -> None:
    result = checked("WaitingCache", 5)
    assert (result.status, result.verdict) == (Status.UNKNOWN, "incomplete")
    assert [name for name, _ in result.methods.missing] == ["drop", "get"]
    assert "--leave-out drop --leave-out get" in result.reasons[0]
    result = checked("WaitingCache", 5, leave_out=("get", "drop"))
    assert result.status is Status.OK
    assert result.methods.left_out == (("drop", ""), ("get", ""))


def test_a_method_that_raises_whatever_it_is_given_makes_a_run_incomplete() -> None:
    result = checked("Picky", 5)
    assert result.verdict == "incomplete"
    ((name, reason),) = result.methods.missing
    assert (name, reason) == ("unlock", "it raised PermissionError for all values that were tried")


def test_real_threads_find_the_state_of_a_module_as_it_was() -> None:
    result = checked("GoodTranslator", 12, phases=("stress",))
    assert (result.status, result.findings) == (Status.OK, ())


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("module", "name"), _named("Bad"))
def test_another_faulty_class_is_found(module: ModuleType, name: str) -> None:
    result = checked(name, 75, file=Path(str(module.__file__)))
    assert result.status is Status.VIOLATION, (result.reasons, [finding.unconfirmed for finding in result.findings])


@pytest.mark.nightly  # real threads try for long to confirm its findings
def test_a_gil_does_not_rule_out_what_own_threads_may_have_half_done() -> None:
    """Such halves explain results: that a search finds no fault with a GIL does not show that there is none."""
    result = checked("HastyNotes", 8, file=Path(own_threads.__file__))
    assert result.findings
    assert not any("only in free-threaded" in finding.detail for finding in result.findings)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("phase", ["explorer", "stress"])
@pytest.mark.parametrize(("module", "name"), _named("Good"))
def test_another_right_class_is_ok_in_each_phase(module: ModuleType, name: str, phase: str) -> None:
    programs = _FEW.get(name, 12) if phase == "explorer" else 40
    result = checked(name, programs, phases=(phase,), file=Path(str(module.__file__)))
    assert result.status is Status.OK, (result.findings, result.reasons)


@pytest.mark.parametrize("phase", ["explorer", "stress"])
@pytest.mark.parametrize("name", ["Permits", "Votes"])
def test_calls_that_are_made_after_the_threads_accuse_no_right_class(name: str, phase: str) -> None:
    file = Path(afterwards.__file__)
    assert checked(f"Good{name}", 12, phases=(phase,), file=file).status is Status.OK
    if phase == "explorer":
        assert checked(f"Bad{name}", 60, file=file).status is Status.VIOLATION


UNCOMMON = [name.removeprefix("Bad") for name in vars(uncommon) if name.startswith("Bad")]


@pytest.mark.parametrize("name", UNCOMMON)
def test_an_uncommon_class_is_found_with_an_example_that_is_python_and_its_twin_is_not_accused(name: str) -> None:
    file = Path(str(uncommon.__file__))
    (finding,) = checked(f"Bad{name}", 60, file=file).findings
    assert (finding.unconfirmed, finding.is_advice) == ("", False)
    assert finding.script
    compile(finding.script, "example", "exec")
    assert not checked(f"Good{name}", 12, file=file).findings


@pytest.mark.parametrize("phase", ["explorer", "stress"])
def test_what_only_virtual_threads_have_accuses_nobody(phase: str) -> None:
    result = checked("GoodHost", 12, phases=(phase,), file=Path(str(uncommon.__file__)))
    assert (result.status, result.findings, result.methods.not_compared) == (Status.OK, (), ())


def found_and_its_twin(name: str, file: Path) -> tuple[SuiteResult, SuiteResult]:
    """The results of a faulty class, whose example is Python, and of its twin, which is not accused."""
    result = checked(f"Bad{name}", 60, file=file)
    assert result.status is Status.VIOLATION, (result.findings, result.reasons)
    compile(result.findings[0].script, "example", "exec")
    twin = checked(f"Good{name}", 12, file=file)
    assert (twin.status, twin.findings) == (Status.OK, ()), twin.reasons
    return result, twin


RETURNED = [name.removeprefix("Bad") for name in vars(returned) if name.startswith("Bad")]


@pytest.mark.parametrize("name", RETURNED)
def test_a_fault_of_an_object_that_a_call_returns_is_found_and_its_twin_is_not_accused(name: str) -> None:
    result, _ = found_and_its_twin(name, Path(returned.__file__))
    assert "result_of_" in result.findings[0].script or name == "Signals"


FURTHER = [name.removeprefix("Bad") for name in vars(functions_and_children) if name.startswith("Bad")]


@pytest.mark.parametrize("name", FURTHER)
def test_a_fault_of_a_returned_function_or_child_is_found_and_its_twin_is_not_accused(name: str) -> None:
    result, twin = found_and_its_twin(name, Path(functions_and_children.__file__))
    is_of_class = name == "Decorated"
    assert is_of_class or "result_of_" in result.findings[0].script
    assert is_of_class != any(called.startswith("result_of_") for called in twin.methods.called)


def test_methods_that_are_no_functions_are_called() -> None:
    result = checked("GoodDecorated", 12, file=Path(functions_and_children.__file__))
    assert result.methods.called == ("add", "add_one", "count", "hit")


@pytest.mark.parametrize("name", ["Numbers", "Counts"])
def test_where_no_result_can_be_compared_nothing_is_known(name: str) -> None:
    result = checked(name, 4, file=Path(functions_and_children.__file__))
    assert result.status is Status.UNKNOWN
    assert "no result was compared" in " ".join(result.reasons)
    done = CliRunner().invoke(main, ["verify", f"{functions_and_children.__file__}:{name}", "--bound", "2x1"])
    assert (done.exit_code, "not verified: no result was compared" in " ".join(done.output.split())) == (3, True)


def test_a_container_that_is_not_read_is_named() -> None:
    result = checked("ReadCounts", 4, file=Path(functions_and_children.__file__))
    assert result.status is Status.OK
    assert result.methods.not_compared == (("counts", "it is a dict; only plain values are read"),)


def test_a_call_that_waits_until_its_timeout_does_not_read_the_object_back() -> None:
    result = checked("GoodStart", 12, phases=("stress",), file=Path(functions_and_children.__file__))
    assert not result.findings


def test_real_threads_alone_accuse_no_class_that_reads_the_clock() -> None:
    result = checked("Stamped", 12, phases=("stress",), file=Path(functions_and_children.__file__))
    assert result.status is Status.UNKNOWN
    assert "depend on the clock" in result.findings[0].unconfirmed
    assert checked("Stamped", 12, file=Path(functions_and_children.__file__)).status is Status.VIOLATION


def test_a_method_that_only_children_take_is_called_there_and_named() -> None:
    result = checked("GoodMetric", 12, file=Path(functions_and_children.__file__))
    assert "result_of_labels.add" in result.methods.called
    assert "add" not in result.methods.called
    reason = "it raised for all values that were tried; result_of_labels.add did not"
    assert dict(result.methods.not_compared)["add"] == reason


@pytest.mark.parametrize(("name", "called"), [("GoodTable", "copy get put"), ("GoodDecorator", "count register")])
def test_copies_and_functions_of_others_are_not_called(name: str, called: str) -> None:
    result = checked(name, 6, file=Path(functions_and_children.__file__))
    assert (result.status, " ".join(result.methods.called)) == (Status.OK, called)


def test_methods_of_what_two_attributes_return_are_called_once_and_are_not_required() -> None:
    result = checked("GoodGuards", 12, file=Path(returned.__file__))
    assert (result.status, result.findings) == (Status.OK, ())
    assert {name.rpartition(".")[0] for name in result.methods.called} == {"", "result_of_guard"}
    ((name, reason),) = result.methods.not_by_threads
    assert (name, "--leave-out result_of_guard.acquire" in reason) == ("result_of_guard.release", True)
    report = methods_report(["lend", "result_of_lend.renew"], [], [{"lend": {"ok": 3}}])
    assert (report.called, report.left_out) == (("lend",), ())
    assert report.not_compared == (("result_of_lend.renew", "it was not called before the run ended"),)


@pytest.mark.parametrize(
    ("name", "methods"),
    [("GoodPages", ["close", "write"]), ("GoodLeases", ["__enter__.enter", "__enter__.exit", "giveBack", "write"])],
)
def test_an_object_that_is_ended_is_not_used_again(name: str, methods: list[str]) -> None:
    result = checked(name, 40, file=Path(returned.__file__))
    assert (result.status, result.findings) == (Status.OK, ())
    produced = result.methods.called[0]
    assert result.methods.called == (produced, *(f"result_of_{produced}.{method}" for method in methods))


def test_the_programs_of_a_proof_call_returned_objects(tmp_path: Path) -> None:
    runner = CliRunner()
    for name, code in (("BadCounters", 1), ("GoodCounters", 0)):
        done = runner.invoke(main, ["verify", f"{returned.__file__}:{name}", "--bound", "2x1"])
        assert done.exit_code == code, done.output
        token = re.search(r"kcache replay (\S+)", done.output)
        if token is not None:
            assert "REPRODUCED" in runner.invoke(main, ["replay", token[1]]).output.upper()
    assert not any(tmp_path.iterdir())


def test_methods_of_returned_objects_are_called_as_far_as_values_are_known_and_named_otherwise() -> None:
    file = Path(str(uncommon.__file__))
    result = checked("Shelf", 6, file=file)
    assert (result.status, result.findings) == (Status.OK, ())
    assert result.methods.called == ("book", "books", "copy", "result_of_book.read")
    assert result.methods.not_compared == (("book", "Book: sort is not called"), ("books", "Book: sort is not called"))
    without = checked("Shelf", 6, file=file, leave_out=("result_of_book",))
    assert dict(without.methods.not_compared) == dict.fromkeys(["book", "books"], "Book: its methods are not called")


def test_who_waits_for_what_may_have_been_before_is_not_forgotten() -> None:
    result = checked("Signal", 12, file=Path(str(newcomers.__file__)))
    assert (result.findings, result.status) == ((), Status.OK), result.reasons


def test_calls_that_threads_do_not_make_are_named() -> None:
    result = checked("Names", 6, file=Path(str(uncommon.__file__)))
    assert result.status is Status.OK
    reasons = dict(result.methods.not_by_threads)
    assert reasons["pop"] == "dict defines it, without the class's locks"
    assert "register" not in reasons


def test_sync_methods_of_an_async_class_are_called_by_threads_if_its_async_ones_are_left_out() -> None:
    file = Path(str(uncommon.__file__))
    in_a_loop = checked("Tally", 12, file=file)
    assert in_a_loop.status is Status.OK, in_a_loop.reasons
    ((name, reason),) = in_a_loop.methods.not_by_threads
    assert (name, "--leave-out add_soon" in reason) == ("add", True)
    assert checked("Tally", 12, file=file, leave_out=("add_soon",)).status is Status.VIOLATION


def test_what_only_reads_is_read_back_without_optional_arguments() -> None:
    result = checked("GoodTap", 8, file=Path(str(uncommon.__file__)))
    assert (result.findings, result.status) == ((), Status.OK), result.reasons


def test_an_object_that_cannot_be_entered_is_a_result_like_others() -> None:
    result = checked("Proxied", 4, file=Path(str(uncommon.__file__)))
    assert (result.methods.called, result.methods.left_out) == (("current",), ())


def test_what_a_mixin_does_in_several_steps_is_a_call_of_the_class() -> None:
    own = {call.name for call in public_calls(uncommon.Table, uncommon.Table()) if not call.is_inherited}
    assert {"__setitem__", "pop", "popitem", "setdefault", "update", "clear"} <= own
