"""Shapes of Python types."""

import copy
import enum
import json
import pickle
import sys
import typing
from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from datetime import datetime
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

import attrs
import pydantic
import pytest

from kcache_conformance.fuzzing.judging.legality import is_legal
from kcache_conformance.fuzzing.objects.codec import decode, encode
from kcache_conformance.fuzzing.shapes.combining import either, without_none
from kcache_conformance.fuzzing.shapes.fixed_tuples import tuple_of_size
from kcache_conformance.fuzzing.shapes.from_types import shape_of_type
from kcache_conformance.fuzzing.shapes.shape import (
    Anything,
    Blob,
    Choice,
    Either,
    Field,
    Flag,
    Fraction,
    Later,
    Listing,
    Moment,
    Nothing,
    Record,
    ShapeError,
    Style,
    Table,
    Text,
    Whole,
    resolved,
)
from stateful_tests.shape_support import at, fields_of, for_all


class Colour(enum.Enum):
    RED = "red"
    BLUE = 2


Name = NewType("Name", str)
T = TypeVar("T")
Bound = TypeVar("Bound", bound=int)
OneOf = TypeVar("OneOf", int, str)


@pytest.mark.parametrize(
    ("annotation", "shape"),
    [
        (str, Text()),
        (int, Whole()),
        (float, Fraction()),
        (bool, Flag()),
        (bytes, Blob()),
        (datetime, Moment()),
        (None, Nothing()),
        (type(None), Nothing()),
        (Any, Anything()),
        (object, Anything()),
        (Optional[str], Either((Text(), Nothing()))),  # noqa: UP045
        (str | None, Either((Text(), Nothing()))),
        (Union[int, str, int], Either((Whole(), Text()))),  # noqa: UP007
        (Literal["a", 1, None], Choice(("a", 1, None))),
        (Colour, Choice((Colour.RED, Colour.BLUE))),
        (list, Listing(Anything())),
        (list[int], Listing(Whole())),
        (typing.List[int], Listing(Whole())),  # noqa: UP006
        (Sequence[str | None], Listing(Either((Text(), Nothing())))),
        (tuple, Listing(Anything(), container=tuple)),
        (tuple[int, ...], Listing(Whole(), container=tuple)),
        (tuple[int, int], Listing(Whole(), 2, 2, tuple)),
        (set[str], Listing(Text(), container=set)),
        (frozenset[str], Listing(Text(), container=frozenset)),
        (dict, Table(Text(), Anything())),
        (dict[str, int], Table(Text(), Whole())),
        (Mapping[int, list[str]], Table(Whole(), Listing(Text()))),
        (Annotated[str, "what it is for"], Text()),
        (Annotated[int, pydantic.Field(ge=1, lt=5)], Whole(1, 4)),
        (Annotated[str, pydantic.StringConstraints(min_length=1, pattern="^a")], Text(least=1, pattern="^a")),
        (Name, Text()),
        (T, Anything()),
        (Bound, Whole()),
        (OneOf, Either((Whole(), Text()))),
    ],
)
def test_types(annotation, shape):
    assert shape_of_type(annotation) == shape


def test_an_empty_tuple_is_the_only_one():
    assert is_legal((), shape_of_type(tuple[()]))
    assert not is_legal((1,), shape_of_type(tuple[()]))


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
    assert shape_of_type(space["Names"]) == Either((Listing(Text()), Nothing()))
    assert shape_of_type(space["Pairs"][int]) == Table(Text(), Whole())
    nested = shape_of_type(space["Nested"])
    assert isinstance(nested, Listing)
    assert resolved(nested.item) is nested
    with pytest.raises(ShapeError, match="defined by itself alone"):
        shape_of_type(space["Nothing_but_itself"])


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
    shape = shape_of_type(Pod)
    assert isinstance(shape, Record)
    assert (shape.style, shape.make, shape.name) == (Style.CLASS, Pod, "Pod")
    assert shape.fields[:4] == (
        Field("name", Text(), may_be_missing=False, may_be_none=False),
        Field("labels", Table(Text(), Text()), may_be_missing=True, may_be_none=False),
        Field("node", Text(), may_be_missing=True, may_be_none=True),
        Field("phase", Choice(("Running", "Failed")), may_be_missing=True, may_be_none=False),
    )
    assert [one.name for one in shape.fields] == ["name", "labels", "node", "phase", "ports"]
    assert at(shape, "ports", "[]").fields == (
        Field("number", Whole(), may_be_missing=False, may_be_none=False),
        Field("any", Anything(), may_be_missing=False, may_be_none=True),
    )
    made = shape.make(name="a", ports=[Port(number=1, any=None)])
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
    shape = shape_of_type(Tree)
    parent = fields_of(shape)["parent"]
    assert isinstance(parent.shape, Later)
    assert parent.may_be_none
    assert resolved(parent.shape) is shape
    assert at(shape, "children", "[]") is shape
    ping = shape_of_type(Ping)
    assert resolved(at(ping, "pong", "pings").value) is ping
    for_all(shape)
    with pytest.raises(ShapeError, match=r"Endless always holds another object of its own type"):
        shape_of_type(Endless)


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
    assert at(shape_of_type(Box[int]), "content") == Whole()
    assert at(shape_of_type(Box[int]), "more", "[]", "content") == Whole()
    assert at(shape_of_type(Texts), "content") == Text()
    assert isinstance(at(shape_of_type(Lists[int]), "content"), Listing)
    assert at(shape_of_type(Box), "content") == Anything()


class Partial(TypedDict, total=False):
    note: str
    name: Required[str]


class Item(Partial):
    count: "NotRequired[int | None]"
    owner: "Meta"


def test_typed_dicts():
    shape = shape_of_type(Item)
    assert isinstance(shape, Record)
    assert (shape.style, shape.make) == (Style.ITEMS, None)
    assert {one.name: (one.shape, one.may_be_missing, one.may_be_none) for one in shape.fields} == {
        "note": (Text(), True, False),
        "name": (Text(), False, False),
        "count": (Whole(), True, True),
        "owner": (shape_of_type(Meta), False, False),
    }


class Point(NamedTuple):
    x: int
    label: str | None = None


def test_named_tuples():
    shape = shape_of_type(Point)
    assert shape == Record(
        (Field("x", Whole(), False, False), Field("label", Text(), True, True)), Style.CLASS, Point, "Point"
    )
    assert shape.make is Point
    with pytest.raises(ShapeError, match="field 'x' of class Bare has no annotation"):
        shape_of_type(namedtuple("Bare", "x y"))


def test_tuples_with_a_type_for_each_item():
    shape = shape_of_type(tuple[int, str])
    for_all(shape, lambda made: isinstance(made, tuple) or pytest.fail("no tuple"))
    made = tuple_of_size(2)(item_0=1, item_1="a")
    assert made == (1, "a")
    assert hash(made) == hash((1, "a"))
    assert repr(made) == "(1, 'a')"
    for copied in (copy.deepcopy(made), pickle.loads(pickle.dumps(made)), decode(json.loads(json.dumps(encode(made))))):
        assert copied == made
        assert type(copied) is type(made)
    assert not is_legal(tuple_of_size(2)(item_0="a", item_1=1), shape)


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
    shape = shape_of_type(Model)
    assert isinstance(shape, Record)
    assert fields_of(shape)["name"] == Field("name", Text(least=1, most=3), False, False)
    assert fields_of(shape)["count"] == Field("count", Whole(0), True, True)
    assert at(shape, "inner") is shape
    assert shape.make is not None
    assert shape.make(name="a", node_name="n").node_name == "n"
    for_all(shape)
    assert shape_of_type(Populated) == Record(
        (Field("node_name", Text(pattern="^n"), False, False),), Style.CLASS, None, "Populated"
    )
    assert shape_of_type(Populated).make is Populated
    assert at(shape_of_type(Checked), "port") == Whole(1, 10)


@attrs.define
class Attrs:
    name: str
    _hidden: "int | None" = None
    items: list[str] = attrs.field(factory=list)
    skipped: int = attrs.field(init=False, default=1)


def test_attrs_classes():
    shape = shape_of_type(Attrs)
    assert isinstance(shape, Record)
    assert shape.fields == (
        Field("name", Text(), False, False),
        Field("_hidden", Whole(), True, True),
        Field("items", Listing(Text()), True, False),
    )
    assert shape.make is not None
    assert shape.make(name="a", _hidden=1) == Attrs("a", 1)


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
    shape = shape_of_type(Plain)
    assert isinstance(shape, Record)
    assert shape.make is Plain
    assert shape.fields == (
        Field("name", Text(), False, False),
        Field("node", Text(), True, True),
        Field("zone", Whole(), True, False),
    )
    assert at(shape_of_type(WithInitVar), "seed") == Whole()
    with pytest.raises(
        ShapeError, match=r"parameter 'name' of Unannotated.__init__ has no annotation; give a strategy"
    ):
        shape_of_type(Unannotated)


@dataclass
class Priced:
    price: list[Decimal]


@dataclass
class Lost:
    other: "NotThere"  # noqa: F821


def test_unknown_types_say_where_they_are():
    with pytest.raises(ShapeError) as caught:
        shape_of_type(Priced)
    assert str(caught.value) == (
        "field 'price' of class Priced has the type decimal.Decimal, of which no values can be made up; "
        "give a strategy, a schema, or samples of the objects instead"
    )
    with pytest.raises(ShapeError, match="the annotations of Lost cannot be resolved: name 'NotThere' is not defined"):
        shape_of_type(Lost)
    for unknown in (Decimal, Path, type("Empty", (), {}), 3, "text"):
        with pytest.raises(ShapeError):
            shape_of_type(unknown)


def test_a_class_local_to_a_function_knows_itself():
    @dataclass
    class Local:
        other: "Local | None" = None

    assert at(shape_of_type(Local), "other").make is Local


def test_choices():
    assert either([Text(), Either((Text(), Whole()))]) == Either((Text(), Whole()))
    assert either([Choice((1,)), Choice((True,))]) == Either((Choice((1,)), Choice((True,))))
    assert without_none(Either((Text(), Nothing(), Choice((None, 1))))) == (Either((Text(), Choice((1,)))), True)
    assert without_none(Nothing()) == (Nothing(), True)
    assert without_none(Text()) == (Text(), False)
    with pytest.raises(ShapeError):
        either([])
