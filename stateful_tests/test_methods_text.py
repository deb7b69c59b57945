"""Tests of the lists of methods that a verdict names."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.report.formats import FORMATS
from kcache_conformance.report.methods_text import encode_methods, methods_lines
from kcache_conformance.report.run_report import RunReport, lines_about_methods, report_of_one_phase
from kcache_conformance.results.completeness import MethodsReport
from kcache_model.verdict import Status

_ALL = MethodsReport(
    called=("acquire", "release"),
    left_out=(("get", "async"), ("drop", "no value for its parameter 'job'"), ("close", "")),
    not_compared=(("now", "its results differ from run to run"),),
    not_by_threads=(("clear", "dict defines it"), ("get", "dict defines it"), ("pop", "dict defines it")),
    mostly_raised=(("publish", "TypeError in 40 % of 312 calls"),),
)


def test_each_list_is_one_line_with_the_reason_of_each_method() -> None:
    assert methods_lines(_ALL) == [
        "called: acquire, release",
        "left out: get (async), drop (no value for its parameter 'job'), close",
        "not compared: now (its results differ from run to run)",
        "not called by threads: clear, get and pop (dict defines it)",
        "often raised: publish (TypeError in 40 % of 312 calls)",
    ]


def test_empty_lists_give_no_line() -> None:
    assert methods_lines(MethodsReport(called=("get",))) == ["called: get"]
    assert not methods_lines(MethodsReport())
    assert not MethodsReport()
    assert MethodsReport(left_out=(("get", "async"),))


def test_json_maps_methods_to_reasons() -> None:
    assert json.loads(json.dumps(encode_methods(_ALL))) == {
        "called": ["acquire", "release"],
        "left_out": {"get": "async", "drop": "no value for its parameter 'job'", "close": ""},
        "not_compared": {"now": "its results differ from run to run"},
        "not_by_threads": dict.fromkeys(("clear", "get", "pop"), "dict defines it"),
        "mostly_raised": {"publish": "TypeError in 40 % of 312 calls"},
    }


@pytest.fixture
def report() -> RunReport:
    options = SuiteOptions(kind="indexer", phases=("explorer",))
    began = RunReport("explore", "kcache explore pool.py:Pool", "pool.py:Pool", options)
    return report_of_one_phase(began, Status.OK, (), {"programs": 1}, not_tested=("old",), methods=_ALL)


@pytest.mark.parametrize("name", ["text", "markdown", "html"])
def test_reports_for_people_list_the_methods(name: str, report: RunReport, tmp_path: Path) -> None:
    FORMATS[name].write(report, tmp_path / "report")
    text = (tmp_path / "report").read_text(encoding="utf-8")
    for line in ("alled: acquire, release", "ot compared: now (its results differ from run to run)"):
        assert line in text


def test_json_has_the_methods_where_they_are_known(report: RunReport, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    FORMATS["json"].write(report, file)
    assert json.loads(file.read_text(encoding="utf-8"))["methods"] == encode_methods(_ALL)
    unknown = replace(report, result=replace(report.result, methods=MethodsReport()))
    FORMATS["json"].write(unknown, file)
    assert "methods" not in json.loads(file.read_text(encoding="utf-8"))
    assert lines_about_methods("indexer", unknown.result) == ["not tested, because the target does not offer it: old"]
