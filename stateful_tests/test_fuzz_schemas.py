"""Schemas of Python types."""

import copy
import enum
import json
import pickle
import re
import sys
import threading
import typing
from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    Required,
    TypedDict,
    TypeVar,
    Union,
)
from uuid import UUID

import attrs
import pydantic
import pytest

from kcache_conformance.fuzzing.judging.validity import is_valid
from kcache_conformance.fuzzing.objects.trees import decode, encode
from kcache_conformance.fuzzing.schemas.combining import either, notes_in, without_none
from kcache_conformance.fuzzing.schemas.fixed_tuples import tuple_of_size
from kcache_conformance.fuzzing.schemas.from_types import schema_of_type
from kcache_conformance.fuzzing.schemas.schema import (
    Anything,
    Array,
    Boolean,
    Bytes,
    Choice,
    Either,
    Field,
    Integer,
    Later,
    Map,
    Moment,
    Nothing,
    Number,
    Record,
    SchemaError,
    Standard,
    Style,
    Text,
    resolved,
)
from stateful_tests.material.schema_support import at, fields_of, for_all


class Colour(enum.Enum):
    RED = "red"
    BLUE = 2


Name = NewType("Name", str)
T = TypeVar("T")
Bound = TypeVar("Bound", bound=int)
OneOf = TypeVar("OneOf", int, str)


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, Text()),
        (int, Integer()),
        (float, Number()),
        (bool, Boolean()),
        (bytes, Bytes()),
        (datetime, Moment()),
        (date, Standard(date)),
        (UUID, Standard(UUID)),
        (Decimal | None, Either((Standard(Decimal), Nothing()))),
        (list[Path], Array(Standard(Path))),
        (None, Nothing()),
        (type(None), Nothing()),
        (Any, Anything()),
        (object, Anything()),
        (Optional[str], Either((Text(), Nothing()))),  # noqa: UP045
        (str | None, Either((Text(), Nothing()))),
        (Union[int, str, int], Either((Integer(), Text()))),  # noqa: UP007
        (Literal["a", 1, None], Choice(("a", 1, None))),
        (Colour, Choice((Colour.RED, Colour.BLUE))),
        (list, Array(Anything())),
        (list[int], Array(Integer())),
        (typing.List[int], Array(Integer())),  # noqa: UP006
        (Sequence[str | None], Array(Either((Text(), Nothing())))),
        (tuple, Array(Anything(), container=tuple)),
        (tuple[int, ...], Array(Integer(), container=tuple)),
        (tuple[int, int], Array(Integer(), 2, 2, tuple)),
        (set[str], Array(Text(), container=set)),
        (frozenset[str], Array(Text(), container=frozenset)),
        (dict, Map(Text(), Anything())),
        (dict[str, int], Map(Text(), Integer())),
        (Mapping[int, list[str]], Map(Integer(), Array(Text()))),
        (Annotated[str, "what it is for"], Text()),
        (Annotated[int, pydantic.Field(ge=1, lt=5)], Integer(1, 4)),
        (Annotated[str, pydantic.StringConstraints(min_length=1, pattern="^a")], Text(least=1, pattern="^a")),
        (Name, Text()),
        (T, Anything()),
        (Bound, Integer()),
        (OneOf, Either((Integer(), Text()))),
    ],
)
def test_types(annotation, schema):
    assert schema_of_type(annotation) == schema


def test_an_empty_tuple_is_the_only_one():
    assert is_valid((), schema_of_type(tuple[()]))
    assert not is_valid((1,), schema_of_type(tuple[()]))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the statement is of 3.12")
def test_type_aliases():
    space: dict[str, Any] = {"__name__": __name__}
    exec(
        "type Names = list[str] | None\n"
        "type Pairs[X] = dict[str, X]\n"
        "type Nested = list[Nested]\n"
        "type Nothing_but_itself = Nothing_but_itself\n",
        space,
    )
    assert schema_of_type(space["Names"]) == Either((Array(Text()), Nothing()))
    assert schema_of_type(space["Pairs"][int]) == Map(Text(), Integer())
    nested = schema_of_type(space["Nested"])
    assert isinstance(nested, Array)
    assert resolved(nested.item) is nested
    with pytest.raises(SchemaError, match="defined only by itself"):
        schema_of_type(space["Nothing_but_itself"])


@dataclass
class Meta:
    name: str
    labels: dict[str, str] = field(default_factory=dict)


@dataclass
class Pod(Meta):
    node: Optional[str] = None  # noqa: UP045
    phase: "Literal['Running', 'Failed']" = "Running"
    ports: "list[Port]" = field(default_factory=list)
    computed: int = field(init=False, default=0)


@dataclass(frozen=True, kw_only=True)
class Port:
    number: int
    any: Any


def test_data_classes_nested_and_inherited():
    schema = schema_of_type(Pod)
    assert isinstance(schema, Record)
    assert (schema.style, schema.make, schema.name) == (Style.CLASS, Pod, "Pod")
    assert schema.fields[:4] == (
        Field("name", Text(), may_be_missing=False, may_be_none=False),
        Field("labels", Map(Text(), Text()), may_be_missing=True, may_be_none=False),
        Field("node", Text(), may_be_missing=True, may_be_none=True),
        Field("phase", Choice(("Running", "Failed")), may_be_missing=True, may_be_none=False),
    )
    assert [one.name for one in schema.fields] == ["name", "labels", "node", "phase", "ports"]
    assert at(schema, "ports", "[]").fields == (
        Field("number", Integer(), may_be_missing=False, may_be_none=False),
        Field("any", Anything(), may_be_missing=False, may_be_none=True),
    )
    made = schema.make(name="a", ports=[Port(number=1, any=None)])
    assert made == Pod("a", ports=[Port(number=1, any=None)])


@dataclass
class Tree:
    parent: "Tree | None"
    children: "list[Tree]" = field(default_factory=list)


@dataclass
class Ping:
    pong: "Pong | None" = None


@dataclass
class Pong:
    pings: dict[str, Ping]


@dataclass
class Endless:
    another: "Endless"


def test_types_that_refer_to_themselves():
    schema = schema_of_type(Tree)
    parent = fields_of(schema)["parent"]
    assert isinstance(parent.schema, Later)
    assert parent.may_be_none
    assert resolved(parent.schema) is schema
    assert at(schema, "children", "[]") is schema
    ping = schema_of_type(Ping)
    assert resolved(at(ping, "pong", "pings").value) is ping
    for_all(schema)
    with pytest.raises(SchemaError, match=r"Endless always contains another object of its own type"):
        schema_of_type(Endless)


@dataclass
class Box(Generic[T]):
    content: T
    more: "list[Box[T]]" = field(default_factory=list)


@dataclass
class Texts(Box[str]):
    pass


@dataclass
class Lists(Box[list[T]], Generic[T]):
    pass


def test_generic_classes():
    assert at(schema_of_type(Box[int]), "content") == Integer()
    assert at(schema_of_type(Box[int]), "more", "[]", "content") == Integer()
    assert at(schema_of_type(Texts), "content") == Text()
    assert isinstance(at(schema_of_type(Lists[int]), "content"), Array)
    assert at(schema_of_type(Box), "content") == Anything()


class Partial(TypedDict, total=False):
    note: str
    name: Required[str]


class Item(Partial):
    count: "NotRequired[int | None]"
    owner: "Meta"


def test_typed_dicts():
    schema = schema_of_type(Item)
    assert isinstance(schema, Record)
    assert (schema.style, schema.make) == (Style.ITEMS, None)
    assert {one.name: (one.schema, one.may_be_missing, one.may_be_none) for one in schema.fields} == {
        "note": (Text(), True, False),
        "name": (Text(), False, False),
        "count": (Integer(), True, True),
        "owner": (schema_of_type(Meta), False, False),
    }


class Point(NamedTuple):
    x: int
    label: str | None = None


def test_named_tuples():
    schema = schema_of_type(Point)
    assert schema == Record(
        (Field("x", Integer(), False, False), Field("label", Text(), True, True)), Style.CLASS, Point, "Point"
    )
    assert schema.make is Point
    with pytest.raises(SchemaError, match="field 'x' of class Bare has no annotation"):
        schema_of_type(namedtuple("Bare", "x y"))


def test_tuples_with_a_type_for_each_item():
    schema = schema_of_type(tuple[int, str])
    for_all(schema, lambda made: isinstance(made, tuple) or pytest.fail("no tuple"))
    made = tuple_of_size(2)(item_0=1, item_1="a")
    assert made == (1, "a")
    assert hash(made) == hash((1, "a"))
    assert repr(made) == "(1, 'a')"
    for copied in (copy.deepcopy(made), pickle.loads(pickle.dumps(made)), decode(json.loads(json.dumps(encode(made))))):
        assert copied == made
        assert type(copied) is type(made)
    tree = encode(made)
    earlier = {**tree, "class": tree["class"].replace(".schemas.", ".shapes.")}
    assert decode(earlier) == made, "replay tokens of earlier versions name the module so"
    assert not is_valid(tuple_of_size(2)(item_0="a", item_1=1), schema)


class Model(pydantic.BaseModel):
    name: str = pydantic.Field(min_length=1, max_length=3)
    count: int | None = pydantic.Field(default=None, ge=0)
    inner: "Optional[Model]" = None  # noqa: UP045
    node_name: str = pydantic.Field(alias="nodeName")


class Populated(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(populate_by_name=True)
    node_name: str = pydantic.Field(alias="nodeName", pattern="^n")


@pydantic.dataclasses.dataclass
class Checked:
    port: int = pydantic.Field(gt=0, le=10)


def test_pydantic_models():
    schema = schema_of_type(Model)
    assert isinstance(schema, Record)
    assert fields_of(schema)["name"] == Field("name", Text(least=1, most=3), False, False)
    assert fields_of(schema)["count"] == Field("count", Integer(0), True, True)
    assert at(schema, "inner") is schema
    assert schema.make is not None
    assert schema.make(name="a", node_name="n").node_name == "n"
    for_all(schema)
    assert schema_of_type(Populated) == Record(
        (Field("node_name", Text(pattern="^n"), False, False),), Style.CLASS, None, "Populated"
    )
    assert schema_of_type(Populated).make is Populated
    assert at(schema_of_type(Checked), "port") == Integer(1, 10)


@attrs.define
class Attrs:
    name: str
    _hidden: "int | None" = None
    items: list[str] = attrs.field(factory=list)
    skipped: int = attrs.field(init=False, default=1)


def test_attrs_classes():
    schema = schema_of_type(Attrs)
    assert isinstance(schema, Record)
    assert schema.fields == (
        Field("name", Text(), False, False),
        Field("_hidden", Integer(), True, True),
        Field("items", Array(Text()), True, False),
    )
    assert schema.make is not None
    assert schema.make(name="a", _hidden=1) == Attrs("a", 1)


class Plain:
    def __init__(self, name: str, node: "str | None" = None, *args: Any, zone: int = 0, **kwargs: Any) -> None:
        self.name, self.node, self.zone = name, node, zone


@dataclass
class WithInitVar:
    name: str
    seed: InitVar[int]


class Unannotated:
    def __init__(self, name, node: int):
        pass


def test_plain_classes():
    schema = schema_of_type(Plain)
    assert isinstance(schema, Record)
    assert schema.make is Plain
    assert schema.fields == (
        Field("name", Text(), False, False),
        Field("node", Text(), True, True),
        Field("zone", Integer(), True, False),
    )
    assert at(schema_of_type(WithInitVar), "seed") == Integer()
    with pytest.raises(
        SchemaError, match=r"parameter 'name' of Unannotated.__init__ has no annotation; give a strategy"
    ):
        schema_of_type(Unannotated)


class Opaque:
    """Of which nobody knows how to make one."""


class Gear:
    def __init__(self, teeth):
        self.teeth = teeth


@dataclass
class Priced:
    price: list[Opaque]


@dataclass
class Machine:
    gear: Gear


@dataclass
class Factory:
    machine: Machine


@dataclass
class Lost:
    other: "NotThere"  # noqa: F821


def test_unknown_types_say_where_they_are():
    with pytest.raises(SchemaError) as caught:
        schema_of_type(Priced)
    assert str(caught.value) == (
        f"field 'price' of class Priced has the type {__name__}.Opaque, for which no values can be created; "
        "give the field a default, or give a strategy, a schema, or samples of the objects instead "
        "(--strategy, --schema, --samples)"
    )
    with pytest.raises(SchemaError) as caught:
        schema_of_type(Factory)
    assert str(caught.value).startswith(
        "field 'machine' of class Factory (Machine): field 'gear' of class Machine (Gear): "
        "parameter 'teeth' of Gear.__init__ has no annotation; "
    )
    with pytest.raises(SchemaError, match="the annotations of Lost cannot be resolved: name 'NotThere' is not defined"):
        schema_of_type(Lost)
    for unknown in (re.Pattern, Opaque, type("Empty", (), {}), 3, "text"):
        with pytest.raises(SchemaError):
            schema_of_type(unknown)


@dataclass
class Kept:
    name: str
    other: Opaque | None = None
    others: list[Opaque] = field(default_factory=list)
    inner: "Kept | None" = None


class KeptTuple(NamedTuple):
    name: str
    other: Opaque | None = None


@attrs.define
class KeptAttrs:
    name: str
    others: list[Opaque] = attrs.Factory(list)


class KeptModel(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
    name: str
    others: list[Opaque] = pydantic.Field(default_factory=list)


class KeptPlain:
    def __init__(self, name: str, other: Opaque | None = None):
        self.name, self.other = name, other


class Left(TypedDict):
    name: str
    other: NotRequired[Opaque]


@pytest.mark.parametrize("cls", [Kept, KeptTuple, KeptAttrs, KeptModel, KeptPlain])
def test_a_field_of_which_no_values_can_be_made_keeps_its_default_and_that_is_told(cls):
    schema = schema_of_type(cls)
    notes = list(notes_in(schema))
    assert notes
    assert all(f"of class {cls.__name__} has the type {__name__}.Opaque, for which no" in note for note in notes)
    assert all(re.search(r"be created: it keeps its default, (None|\[\])$", note) for note in notes)
    for_all(schema)
    assert is_valid(schema.make(name="a"), schema)
    for kept in set(fields_of(schema)) & {"other", "others"}:
        assert not is_valid(schema.make(name="a", **{kept: [Opaque()]}), schema)


def test_a_key_of_which_no_values_can_be_made_is_left_out_and_that_is_told():
    schema = schema_of_type(Left)
    assert list(fields_of(schema)) == ["name"]
    [note] = notes_in(Array(Either((Nothing(), Map(Text(), schema)))))
    assert note.endswith("for which no values can be created: it is left out")


@dataclass
class Guarded:
    lock: threading.Condition = field(default_factory=threading.Condition)


@dataclass
class Identical:
    opaque: Opaque = field(default_factory=Opaque)


@pytest.mark.parametrize("cls", [Guarded, Identical])
def test_a_default_that_is_no_longer_the_same_in_a_copy_does_not_stand_in(cls):
    with pytest.raises(SchemaError, match=r"field '(lock|opaque)' of class "):
        schema_of_type(cls)


@dataclass
class Ring:
    link: "Link | None" = None
    pair: "Pair | None" = None


@dataclass
class Link:
    pair: "Pair"
    opaque: Opaque


@dataclass
class Pair:
    ring: Ring
    link: "Link | None" = None


def test_what_refers_to_a_type_that_cannot_be_made_is_forgotten():
    for_all(schema_of_type(Ring))
    assert len(list(notes_in(schema_of_type(Ring)))) == 2


def test_a_class_local_to_a_function_knows_itself():
    @dataclass
    class Local:
        other: "Local | None" = None

    assert at(schema_of_type(Local), "other").make is Local


def test_choices():
    assert either([Text(), Either((Text(), Integer()))]) == Either((Text(), Integer()))
    assert either([Choice((1,)), Choice((True,))]) == Either((Choice((1,)), Choice((True,))))
    assert without_none(Either((Text(), Nothing(), Choice((None, 1))))) == (Either((Text(), Choice((1,)))), True)
    assert without_none(Nothing()) == (Nothing(), True)
    assert without_none(Text()) == (Text(), False)
    with pytest.raises(SchemaError):
        either([])
