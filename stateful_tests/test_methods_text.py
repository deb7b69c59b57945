"""Tests of the lists of methods that a verdict names."""

from __future__ import annotations

import json

from kcache_conformance.completeness import MethodsReport
from kcache_conformance.report.methods_text import encode_methods, methods_lines

_ALL = MethodsReport(
    called=("acquire", "release"),
    left_out=(("get", "async"), ("drop", "no value for its parameter 'job'"), ("close", "")),
    not_compared=(("now", "its results differ from run to run"),),
    mostly_raised=(("publish", "TypeError in 40 % of 312 calls"),),
)


def test_each_list_is_one_line_with_the_reason_of_each_method() -> None:
    assert methods_lines(_ALL) == [
        "called: acquire, release",
        "left out: get (async), drop (no value for its parameter 'job'), close",
        "not compared: now (its results differ from run to run)",
        "mostly raised: publish (TypeError in 40 % of 312 calls)",
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
        "mostly_raised": {"publish": "TypeError in 40 % of 312 calls"},
    }
