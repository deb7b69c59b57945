from __future__ import annotations

import enum
import json
import os
import subprocess
import threading
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import attrs
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcache import DeletedFinalStateUnknown
from kcache_conformance.fuzzing.evidence import Engine, Evidence
from kcache_conformance.fuzzing.judging.violation import InputClass, Violation
from kcache_conformance.fuzzing.objects.code import code_of
from kcache_conformance.fuzzing.objects.fuzzed_object import FuzzedObject, difference, fuzzed_object_of
from kcache_conformance.fuzzing.objects.trees import NotPlainError, decode, encode
from kcache_conformance.fuzzing.pasteable import code_for
from kcache_conformance.fuzzing.rules import Kind, Rule
from kcache_model.errors import TargetError

client = pytest.importorskip("kubernetes.client")


class Colour(enum.Enum):
    RED = "red"
    A_NAME_THAT_IS_VERY_LONG_SO_THAT_IT_DOES_NOT_FIT_INTO_A_LINE_WHEREVER_IT_STANDS = 2


class Permission(enum.Flag):
    READ = 1
    WRITE = 2


class Owner(NamedTuple):
    kind: str
    name: Any = "unknown"


@dataclass
class Pod:
    name: Any
    node: Any = "by default"
    key: str = field(init=False)

    def __post_init__(self) -> None:
        self.key = f"key of a {type(self.name).__name__}"


@dataclass(frozen=True, slots=True)
class Port:
    number: Any
    protocol: Any = None

    class Range(NamedTuple):
        least: int
        most: int


@attrs.frozen
class Bound:
    _node: Any


class Plain:
    def __init__(self, **fields: Any) -> None:
        vars(self).update(fields)

    def __eq__(self, other: object) -> bool:
        return type(other) is Plain and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


class Aliased(pydantic.BaseModel):
    node_name: Any = pydantic.Field(None, alias="nodeName")


class ByName(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(populate_by_name=True)
    node_name: Any = pydantic.Field(None, alias="nodeName")


_NAMES = st.sampled_from(["name", "from", "a-b", "", "None", "$", "é", "self", "cls", "tree"])
_ZONES = st.sampled_from([None, UTC, timezone(timedelta(hours=-5, minutes=-30))])
_MOMENTS = st.datetimes(timezones=_ZONES).map(lambda moment: moment.replace(fold=0))
_NUMBERS = st.integers() | st.floats(allow_nan=False) | st.booleans()
_TEXTS = st.text(max_size=8) | st.sampled_from(["a" * 300, "'\"\\\n", "\ud800", "x" * 40 + "'" * 40 + "y", 'say "a"'])
_HASHABLE = st.one_of(
    st.none(), _NUMBERS, _TEXTS, st.binary(max_size=40), _MOMENTS, st.sampled_from(Colour), st.tuples(_TEXTS, _NUMBERS)
)


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=3).map(tuple),
        st.sets(_HASHABLE, max_size=3),
        st.frozensets(_HASHABLE, max_size=3),
        st.dictionaries(_NAMES | _TEXTS, inner, max_size=4),
        st.dictionaries(_HASHABLE, inner, max_size=3),
        st.dictionaries(_NAMES.filter(lambda name: name != "self"), inner, max_size=4).map(
            lambda fields: SimpleNamespace(**fields)
        ),
        st.builds(Pod, inner, inner),
        st.builds(Port, inner, inner),
        st.builds(Port.Range, st.integers(), st.integers()),
        st.builds(Owner, _TEXTS, inner),
        st.builds(lambda labels, node: _client_pod(labels, node), st.dictionaries(_TEXTS, _TEXTS, max_size=2), _TEXTS),
        st.builds(DeletedFinalStateUnknown, _TEXTS, inner),
    )


def _client_pod(labels: dict[str, str], node: str) -> Any:
    return client.V1Pod(
        metadata=client.V1ObjectMeta(name="a", labels=labels, creation_timestamp=datetime(2024, 1, 1, tzinfo=UTC)),
        spec=client.V1PodSpec(node_name=node, containers=[client.V1Container(name="main")]),
    )


_PRINTABLE = st.recursive(_HASHABLE, _containers, max_leaves=12)
_OBJECTS = st.recursive(
    _HASHABLE,
    lambda inner: st.one_of(
        _containers(inner),
        st.builds(Bound, inner),
        st.dictionaries(_NAMES.filter(lambda name: name != "self"), inner, max_size=3).map(lambda one: Plain(**one)),
        st.builds(lambda node: Aliased(nodeName=node), inner),
        st.builds(ByName, node_name=inner),
    ),
    max_leaves=12,
)


# --- Plain data and back -------------------------------------------------------------------------------------------


@settings(max_examples=2 * settings().max_examples)
@given(_OBJECTS)
def test_objects_come_back_from_their_trees(obj):
    tree = encode(obj)
    through_json = json.loads(json.dumps(tree))
    again = decode(through_json)
    assert again == obj
    assert type(again) is type(obj)
    assert difference(tree, encode(again)) is None


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), -0.0])
def test_numbers_that_json_lacks(number):
    tree = encode({"deep": [number]})
    json.dumps(tree, allow_nan=False)
    assert repr(decode(tree)) == repr({"deep": [number]})


def test_each_copy_is_new():
    obj = {"labels": {"a": "b"}, "ports": [Port([1])]}
    one, other = (fuzzed_object_of(obj).fresh() for _ in range(2))
    assert one == other == obj
    assert one["labels"] is not other["labels"]
    assert one["ports"][0].number is not other["ports"][0].number


def test_late_fields_keep_what_somebody_put_there():
    pod = Pod("a")
    pod.key = "another"
    assert decode(encode(pod)).key == "another"


def _cycle() -> Any:
    cycle: list[Any] = []
    cycle.append(cycle)
    return cycle


def _local() -> Any:
    @dataclass
    class Local:
        name: str = "a"

    return Local()


class Slotted:
    __slots__ = ("name",)

    def __init__(self) -> None:
        self.name = "a"


class Money(Decimal):
    """A class of one's own that is no field."""


class PartlySlotted(Slotted):
    def __init__(self) -> None:
        super().__init__()
        self.more = "b"


@pytest.mark.parametrize(
    "obj",
    [
        len,
        lambda: None,
        _cycle(),
        _local(),
        Slotted(),
        PartlySlotted(),
        Permission.READ | Permission.WRITE,
        Permission(0),
        object(),
        ValueError("no fields"),
        threading,
        Port,
        OrderedDict(a=1),
        defaultdict(list, a=[1]),
        type("Text", (str,), {})("a"),
        range(3),
        Money(1),
    ],
    ids=lambda obj: type(obj).__name__,
)
def test_what_is_no_plain_data(obj):
    with pytest.raises(NotPlainError):
        decode(encode({"deep": [obj]}))


def test_what_is_no_plain_data_is_copied_otherwise():
    fuzzed_object = fuzzed_object_of({"flags": Permission.READ | Permission.WRITE, "names": ["a"]})
    assert not fuzzed_object.is_plain
    fuzzed_object.fresh()["names"].append("b")
    assert fuzzed_object.fresh() == fuzzed_object.reordered() == {"flags": Permission(3), "names": ["a"]}


def test_what_cannot_be_copied_is_refused():
    with pytest.raises(TargetError, match="must be copyable"):
        fuzzed_object_of({"lock": threading.Lock()})


@dataclass
class Growing:
    items: list[str]

    def __post_init__(self) -> None:
        self.items = [*self.items, "one more"]


def test_the_canonical_tree_is_that_of_a_copy():
    fuzzed_object = fuzzed_object_of(Growing(["a"]))
    assert difference(fuzzed_object.canonical, encode(fuzzed_object.fresh())) is None
    assert FuzzedObject({"$": "set", "items": ["b", "a", "b"]}).canonical == {"$": "set", "items": ["a", "b"]}


# --- Tokens from strangers -----------------------------------------------------------------------------------------


class Closes:
    calls: tuple[str, ...] = ()

    def __del__(self) -> None:
        Closes.calls += ("deleted",)


@pytest.mark.parametrize(
    "tree",
    [
        {"$": "object", "class": "os:system", "fields": {"command": "touch FILE"}},
        {"$": "object", "class": "builtins:exec", "fields": {"source": "open('FILE', 'w')"}},
        {"$": "enum", "class": "os:system", "name": "touch FILE"},
        {"$": "enum", "class": "subprocess:Popen", "name": "touch FILE"},
        {"$": "object", "class": "os:no_such_thing", "fields": {}},
        {"$": "object", "class": ":", "fields": {}},
        {"$": "object", "class": "no_such_module_anywhere:A", "fields": {}},
        {"$": "object", "class": "subprocess:Popen", "fields": {"args": "touch FILE", "shell": True}},
        {"$": "object", "class": f"{__name__}:Closes", "fields": {}},
        {"$": "enum", "class": f"{__name__}:Colour", "name": "GREEN"},
        {"$": "dict"},
        {"$": "dict", "items": [1]},
        {"$": "dict", "items": [[[], 1]]},
        {"$": "set", "items": [{}]},
        {"$": "float", "text": "much"},
        {"$": "bytes", "hex": "xy"},
        {"$": "datetime", "text": "today"},
        {"$": "namespace", "fields": []},
        {"$": "something else"},
        {"$": 1},
    ],
    ids=str,
)
def test_decoding_calls_nothing(tree, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "system", lambda command: pytest.fail(command))
    monkeypatch.setattr(subprocess.Popen, "__init__", lambda *args, **more: pytest.fail(str(args)))
    with pytest.raises(NotPlainError):
        decode(tree)
    assert Closes.calls == ()
    assert not Path("FILE").exists()


# --- Code ----------------------------------------------------------------------------------------------------------


def _executed(code: str) -> dict[str, Any]:
    space: dict[str, Any] = {}
    exec(code, space)
    return space


@given(_PRINTABLE)
def test_the_printed_code_makes_an_equal_object(obj):
    code = code_of(encode(obj), "made")
    assert _executed(code)["made"] == obj


def test_code_is_broken_into_lines():
    long = [{"name": "a" * 30, "colour": [[[[Colour(2)]]]], "pairs": {(1, "b" * 90): ("c" * 10 + "d" * 80,)}}] * 2
    code = code_of(encode(long))
    assert _executed(code)["obj"] == long
    assert "'aaaa" not in code
    assert 'name": "a" * 30' in code


def test_models_of_the_client_are_printed_without_what_they_lack():
    assert "None" not in code_of(encode(_client_pod({"a": "b"}, "n")))
    assert code_of(encode(Port(1))).endswith("obj = Port(number=1, protocol=None)")


def test_pasteable_code_finds_the_imports_first():
    trees = [encode(SimpleNamespace(note="obj1 = 1\nobj2 = 2")), encode(Port(1)), {"plain": 1}]
    evidence = Evidence(Violation(Rule.TOTAL, ""), InputClass.VALID, Engine.HYPOTHESIS, tuple(map(FuzzedObject, trees)))
    code = code_for("builtins:repr", Kind.INDEX, evidence)
    space = _executed(code)
    assert [space[f"obj{number}"] for number in (1, 2, 3)] == [decode(tree) for tree in trees]
    assert code.splitlines()[-3:] == ["repr(obj1)", "repr(obj2)", "repr(obj3)"]
    assert "from my_file import f" in code_for("some/where/my_file.py:f.g", Kind.INDEX, evidence)


# --- Differences, other orders -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, None),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "obj.a.b was 1, now 2"),
        ({"a": 1}, {"a": True}, "obj.a was 1, now True"),
        ({"a": 1}, {}, "obj.a was 1, now it is gone"),
        ({}, {"a": "x"}, "obj.a is new: 'x'"),
        ([1, 2], [1], "obj had 2 elements, now 1"),
        ([{"a": 1}], [{"a": [1]}], "obj[0].a was 1, now [1]"),
        (SimpleNamespace(a=1), SimpleNamespace(a=2), "obj.a was 1, now 2"),
        (Port(1), Port(2), "obj.number was 1, now 2"),
        (Port.Range(1, 2), Owner("a"), "obj was 'test_fuzz_objects:Port.Range', now 'test_fuzz_objects:Owner'"),
        ({1, 2}, {2}, "obj[0] was 1, now 2"),
        ({1: "a"}, {1: "b"}, "obj[0][1] was 'a', now 'b'"),
    ],
)
def test_difference(before, after, said):
    found = difference(encode(before), encode(after))
    assert (found and found.replace(f"{__name__}:", "test_fuzz_objects:")) == said


@given(_OBJECTS, _OBJECTS)
def test_only_different_trees_have_a_difference(one, other):
    assert difference(encode(one), encode(one)) is None
    if one != other:
        assert difference(encode(one), encode(other)) is not None


def _orders(obj: Any) -> list[list[str]]:
    """The keys of each dict, in their order."""
    if isinstance(obj, dict):
        return [list(map(repr, obj)), *(order for key in sorted(obj, key=repr) for order in _orders(obj[key]))]
    if isinstance(obj, list | tuple):
        return [order for item in obj for order in _orders(item)]
    if isinstance(obj, SimpleNamespace):
        return _orders(dict(vars(obj)))
    return []


@given(_OBJECTS)
def test_the_reordered_copy_is_equal_and_has_its_dicts_the_other_way_round(obj):
    fuzzed_object = fuzzed_object_of(obj)
    other = fuzzed_object.reordered()
    assert other == obj
    assert _orders(other) == [order[::-1] for order in _orders(obj)]
    assert fuzzed_object_of(other).identity == fuzzed_object.identity or "$" in fuzzed_object.identity
