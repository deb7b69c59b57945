"""A hang is repeated alone, in a process of its own and with more patience, before it is one."""

import textwrap
from pathlib import Path

import pytest

from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.runs.suite import run_suite
from kcache_model.finding import FindingKind
from kcache_model.verdict import Status

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
