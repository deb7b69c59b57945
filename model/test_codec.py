"""JSON of programs and histories: round trips, the published schema, and errors that say where."""

from __future__ import annotations

import functools
import json
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcache_conformance.indexers.strategies import index_names, operations
from kcache_model.codec import decode_plain_outcome
from kcache_model.errors import FormatError
from kcache_model.history import Call
from kcache_model.indexers import codec
from kcache_model.indexers.codec import decode_blob, encode_blob
from kcache_model.indexers.items import Semantics
from kcache_model.indexers.operations import OperationName
from kcache_model.indexers.program import History, Program
from kcache_model.indexers.renaming import with_short_names
from kcache_model.outcomes import WAITS, ErrorKind, Outcome

some_operations = operations()
"""One strategy for all: to make it takes longer than to draw from it."""

programs = st.builds(
    Program,
    indexes=st.lists(index_names(), max_size=3).map(tuple),
    prefix=st.lists(some_operations, max_size=4).map(tuple),
    threads=st.lists(st.lists(some_operations, max_size=3).map(tuple), max_size=3).map(tuple),
    semantics=st.sampled_from(Semantics),
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
outcomes = st.one_of(
    st.builds(Outcome, value=st.one_of(st.none(), texts, st.lists(texts, max_size=3).map(tuple))),
    st.builds(Outcome, error=st.sampled_from(ErrorKind), message=texts),
)


@st.composite
def calls(draw: st.DrawFn) -> Call:
    invoked = draw(st.integers(-(2**63), 2**63))
    ended = draw(st.none() | st.integers(invoked, invoked + 1000))
    outcome = None if ended is None else draw(outcomes)
    return Call(draw(st.integers(-2, 5)), draw(some_operations), invoked, ended, outcome)


histories = st.builds(
    History,
    indexes=st.lists(index_names(), max_size=3).map(tuple),
    calls=st.lists(calls(), max_size=4).map(lambda some: tuple(sorted(some, key=lambda call: call.invoked))),
    semantics=st.sampled_from(Semantics),
)


@functools.cache
def schema(name: str) -> Any:
    text = resources.files("kcache_model").joinpath("schemas", f"{name}.schema.json").read_text(encoding="utf-8")
    return json.loads(text)


@functools.cache
def validator(name: str) -> Any:
    """Made once: that the schema itself is one need not be checked again for each example."""
    kind = jsonschema.validators.validator_for(schema(name))
    kind.check_schema(schema(name))
    return kind(schema(name))


def through_json(data: Any) -> Any:
    return json.loads(json.dumps(data))


@given(programs)
def test_program_round_trip(program: Program) -> None:
    data = through_json(codec.encode_program(program))
    validator("program").validate(data)
    assert codec.decode_program(data) == program
    assert decode_blob(encode_blob(program)) == program


@given(histories)
def test_history_round_trip(history: History) -> None:
    lines = list(codec.dump_history(history))
    validator("history").validate(json.loads(lines[0]))
    for line in lines[1:]:
        validator("history").validate(json.loads(line))
    assert codec.load_history(lines) == history
    assert [call.outcome and call.outcome.message for call in codec.load_history(lines).calls] == [
        call.outcome and call.outcome.message for call in history.calls
    ]


@given(programs)
def test_short_names_change_nothing_but_names(program: Program) -> None:
    short = with_short_names(program)
    assert [operation.name for operation in short.operations()] == [o.name for o in program.operations()]
    assert with_short_names(short) == short


def test_every_operation_is_in_the_schema() -> None:
    named = schema("program")["$defs"]["operation"]["properties"]["op"]["enum"]
    assert set(named) == {name.value for name in OperationName}


HEADER = '{"schema": "kcache/history/1", "indexes": ["node"]}'


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "the history is empty"),
        (['{"schema": "other"}'], 'line 1: expected "schema": "kcache/history/1", found "other"'),
        (["[1]"], 'line 1: expected "schema"'),
        ([HEADER, "{"], "line 2: "),
        ([HEADER, "", '{"op": "list"}'], 'line 3: a call needs integers as "thread" and "invoked"'),
        ([HEADER, '{"thread": 0, "op": "jump", "invoked": 1}'], 'line 2: unknown operation "jump"; known are: add,'),
        ([HEADER, '{"thread": 0, "op": "get_by_key", "invoked": 1}'], "line 2: the operation get_by_key lacks key"),
        ([HEADER, '{"thread": 0, "op": "list", "key": "a", "invoked": 1}'], 'the operation list has no field "key"'),
        ([HEADER, '{"thread": 0, "op": "list", "invoked": 5, "returned": 4, "outcome": {"result": []}}'], "not less"),
        ([HEADER, '{"thread": 0, "op": "list", "invoked": 5, "returned": 6}'], 'needs both "returned" and "outcome"'),
        ([HEADER, '{"thread": 0, "op": "list", "invoked": true}'], 'needs integers as "thread"'),
        ([HEADER, '{"thread": 0, "op": "add", "invoked": 1, "item": {"key": 3, "stamp": "v"}}'], "a text as stamp"),
        ([HEADER, '{"thread": 0, "op": "add", "invoked": 1, "item": null}'], "an item must be a JSON object"),
        (
            [
                HEADER,
                '{"thread": 0, "op": "add", "invoked": 1, "item": {"key": "a", "stamp": "v", "values": {"n": "x"}}}',
            ],
            "expected a list",
        ),
        (
            [HEADER, '{"thread": 0, "op": "list", "invoked": 1, "returned": 2, "outcome": {"result": 3}}'],
            "a text, a list of texts or null",
        ),
    ],
)
def test_malformed_history_says_where_and_what(lines: list[str], message: str) -> None:
    with pytest.raises(FormatError) as caught:
        codec.load_history(lines)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("hello", 'begins with "kc1."'),
        ("kc1.", "copy all of it"),
        (encode_blob(Program(("node",))) + "AAAA", "more characters than it should"),
        ("kc1.!!!!", "damaged"),
        (encode_blob(Program())[:-8], "copy all of it"),
        ("kc1.eJwDAAAAAAE", "damaged"),
    ],
)
def test_damaged_words_are_refused(word: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        decode_blob(word)
    assert message in str(caught.value)


def test_the_documented_history_is_judged() -> None:
    """docs/formats.md shows a history; it must be one."""
    text = (Path(__file__).resolve().parents[1] / "docs" / "formats.md").read_text(encoding="utf-8")
    block = text.split("```jsonl\n")[1].split("```")[0]
    history = codec.load_history(block.splitlines())
    assert len(history.calls) == 3


@pytest.mark.parametrize("damaged", [{"waits": False}, {"waits": True, "junk": 1}])
def test_a_call_that_waits_has_one_field(damaged: dict[str, object]) -> None:
    assert decode_plain_outcome({"waits": True}) is WAITS
    with pytest.raises(FormatError, match="waits"):
        decode_plain_outcome(damaged)
