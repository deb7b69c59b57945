"""A hang is repeated alone, in a process of its own and with more patience, before it is one."""

import textwrap
from pathlib import Path

import pytest

from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.runs.repeated_hang import repeated_alone
from kcache_conformance.runs.suite import run_suite
from kcache_conformance.targets.class_names import class_type_name
from kcache_conformance.targets.target_types import target_type_named
from kcache_model.finding import Finding, FindingKind
from kcache_model.object_types.plain import MethodCall, ObjectProgram
from kcache_model.verdict import Status
from kcache_stress.target.replay_token import ReplayToken
from stateful_tests.material.front_door import afterwards

CODE = """
    import os, pathlib

    from kcache import testing as kt

    COUNT = pathlib.Path({count!r})

    def slow_once():
        if not COUNT.exists():
            COUNT.touch()
            until = os.times().elapsed + 3.0
            while os.times().elapsed < until:
                pass
        kt.run(lambda: None, lambda: None)

    def endless():
        while True:
            pass
        kt.run(lambda: None, lambda: None)
    """


@pytest.mark.waits
@pytest.mark.parametrize(("name", "is_hang"), [("slow_once", False), ("endless", True)])
def test_what_returns_when_it_is_repeated_is_no_hang(tmp_path: Path, name: str, is_hang: bool) -> None:
    file = tmp_path / "hanging.py"
    file.write_text(textwrap.dedent(CODE.format(count=str(tmp_path / "count"))))
    options = SuiteOptions(kind="test", budget_seconds=5.0, patience_seconds=0.5, most_findings=1)
    result = run_suite(f"{file}:{name}", options)
    assert result.status is (Status.VIOLATION if is_hang else Status.UNKNOWN), result
    assert [finding.kind for finding in result.findings] == [FindingKind.HANG] * is_hang
    assert is_hang or "returned when it was repeated alone" in result.reasons[0]


@pytest.mark.parametrize(("name", "kind"), [("BadVotes", FindingKind.NONLINEARIZABLE), ("GoodVotes", None)])
def test_what_fails_in_another_way_is_reported_in_place_of_the_hang(name: str, kind: FindingKind | None) -> None:
    spec = f"{afterwards.__file__}:{name}"
    target_type = target_type_named(class_type_name(spec))
    program = ObjectProgram((), ((MethodCall("add", ("a",)),),) * 2)
    token = target_type.tokens.encode(ReplayToken(spec, program, FindingKind.HANG))
    hang = Finding(FindingKind.HANG, "stress", "a call did not return", program, schedule=token)
    again = repeated_alone(hang, target_type, spec, 1.0)
    assert (None if again is None else again.kind) is kind
    assert again is None or again.phase == "stress"
