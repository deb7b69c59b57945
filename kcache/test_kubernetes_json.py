"""JSON is parsed as ``json.loads`` does."""

from __future__ import annotations

import json
import sys

import pytest

from kcache.informers.kubernetes_json import json_parser

TEXTS = [
    '{"a": [1, -2.5, 1e5, true, null], "é😀": {"b": "\\u00e9\\ud83d\\ude00"}}',
    ' {"a": 1, "a": 2} ',
    "123456789012345678901234567890",
    "-0.0",
    "1e400",
    "Infinity",
    '"\\ud800"',
    "\ufeff{}",
    "[" * 300 + "]" * 300,
]


@pytest.mark.parametrize("text", TEXTS)
def test_values_are_those_of_the_standard_library(text: str) -> None:
    encoded = text.encode()
    assert repr(json_parser()(encoded)) == repr(json.loads(encoded))


@pytest.mark.parametrize("text", [b"", b"[", b"{} x", b'"\xff"', b'"\x01"', b"{'a': 1}"])
def test_errors_are_those_of_the_standard_library(text: bytes) -> None:
    with pytest.raises(ValueError) as expected:  # noqa: PT011
        json.loads(text)
    with pytest.raises(type(expected.value)) as raised:
        json_parser()(text)
    assert str(raised.value) == str(expected.value)


def test_without_the_client_there_is_the_standard_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_core", None)
    assert json_parser.__wrapped__() is json.loads
