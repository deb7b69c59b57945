import copy
import enum
import json
import pickle
import sys
import types
import typing
from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from datetime import UTC, datetime
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
import jsonschema
import pydantic
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcache_conformance.fuzzing.judging.legality import is_legal
from kcache_conformance.fuzzing.objects.codec import decode, encode
from kcache_conformance.fuzzing.shapes.combining import either, without_none
from kcache_conformance.fuzzing.shapes.fixed_tuples import tuple_of_size
from kcache_conformance.fuzzing.shapes.from_client import is_client_model, shape_of_client_model
from kcache_conformance.fuzzing.shapes.from_samples import read_samples, shape_of_samples
from kcache_conformance.fuzzing.shapes.from_schema import shape_of_schema
from kcache_conformance.fuzzing.shapes.from_types import shape_of_type
from kcache_conformance.fuzzing.shapes.kubernetes import LABELS, MANIFEST, QUANTITIES, metadata
from kcache_conformance.fuzzing.shapes.shape import (
    Anything,
    Blob,
    Choice,
    Either,
    Field,
    Flag,
    Format,
    Fraction,
    Later,
    Listing,
    Moment,
    Nothing,
    Record,
    Shape,
    ShapeError,
    Style,
    Table,
    Text,
    Whole,
    resolved,
)

client = pytest.importorskip("kubernetes.client")


def fields_of(shape: Shape) -> dict[str, Field]:
    record = resolved(shape)
    assert isinstance(record, Record)
    return {one.name: one for one in record.fields}


def at(shape: Shape, *path: str) -> Any:
    """The shape at a path; ``[]`` goes into a list."""
    for name in path:
        shape = resolved(shape)
        if name == "[]":
            assert isinstance(shape, Listing)
            shape = shape.item
        else:
            shape = fields_of(shape)[name].shape
    return resolved(shape)


_TEXTS = {
    Format.NAME: ("a", "web.x"),
    Format.LABEL: ("a", "b-c"),
    Format.LABEL_KEY: ("app", "x.y/z"),
    Format.LABEL_VALUE: ("", "a.b"),
    Format.QUANTITY: ("1", "2Gi"),
    Format.DIGITS: ("0", "12"),
    Format.TIME: ("2024-02-29T23:59:59Z",),
}


def values(shape: Shape, depth: int = 0) -> st.SearchStrategy[Any]:
    """A plain reading of shapes, with which those of this module are tried."""
    shape = resolved(shape)
    match shape:
        case Text() if shape.pattern is not None:
            most = 10**9 if shape.most is None else shape.most
            return st.from_regex(shape.pattern).filter(lambda text: shape.least <= len(text) <= most)
        case Text(format=Format.FREE):
            return st.text(min_size=shape.least, max_size=shape.most)
        case Text():
            return st.sampled_from(_TEXTS[shape.format])
        case Whole(least, most):
            return st.integers(least, most)
        case Fraction(least, most):
            return st.floats(least, most, allow_nan=False, allow_infinity=False)
        case Flag():
            return st.booleans()
        case Moment():
            return st.just(datetime(2024, 2, 29, tzinfo=UTC))
        case Blob():
            return st.binary(max_size=3)
        case Nothing():
            return st.none()
        case Choice(options):
            return st.sampled_from(options)
        case Either(shapes):
            return st.one_of([values(one, depth) for one in shapes])
        case Anything():
            return st.sampled_from([None, 1, "a", [], {"a": [1]}])
        case Listing(item, least, most, container):
            largest = least if depth > 5 else max(least, min(2, 2 if most is None else most))
            inner = st.nothing() if most == 0 else st.deferred(lambda: values(item, depth + 1))
            return st.lists(inner, min_size=least, max_size=largest).map(container)
        case Table(key, value, least, most):
            largest = max(least, min(2, 2 if most is None else most))
            return st.dictionaries(values(key), values(value, depth + 1), min_size=least, max_size=largest)
        case Record():
            needed = {one.name: _value(one, depth) for one in shape.fields if not one.may_be_missing}
            others = {one.name: _value(one, depth) for one in shape.fields if one.may_be_missing and depth < 6}
            dicts = st.fixed_dictionaries(needed, optional=others)
            make = shape.make
            return dicts if make is None else dicts.map(lambda given: make(**given))
    raise TypeError(shape)


def _value(one: Field, depth: int) -> st.SearchStrategy[Any]:
    value = st.deferred(lambda: values(one.shape, depth + 1))
    return (st.none() if depth > 5 else st.none() | value) if one.may_be_none else value


def for_all(shape: Shape, test: Any = lambda obj: None, examples: int = 30) -> None:
    @settings(
        max_examples=examples, database=None, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(values(shape))
    def run(obj: Any) -> None:
        assert is_legal(obj, shape), obj
        test(obj)

    run()


# --- Python types ----------------------------------------------------------------------------------------------------


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


# --- models of the Kubernetes client ---------------------------------------------------------------------------------


def test_client_models_have_the_formats_of_the_api_server():
    assert is_client_model(client.V1Pod)
    assert not is_client_model(Pod)
    assert not is_client_model(client.V1Pod(metadata=client.V1ObjectMeta()))
    shape = shape_of_type(client.V1Pod)
    assert isinstance(shape, Record)
    assert (shape.style, shape.make, shape.name) == (Style.CLASS, client.V1Pod, "V1Pod")
    fields = fields_of(shape)
    assert not fields["metadata"].may_be_none
    assert not fields["metadata"].may_be_missing
    assert fields["spec"].may_be_none
    assert isinstance(fields["spec"].shape, Later)
    assert fields["kind"].shape == Choice(("Pod",))
    meta = fields_of(fields["metadata"].shape)
    known = {one.name: one.shape for one in metadata(MANIFEST).fields}
    for name in ("name", "namespace", "labels", "annotations", "uid", "generation", "finalizers"):
        assert meta[name].shape == known[name]
        assert meta[name].may_be_none
    assert meta["creation_timestamp"].shape == Moment()
    assert meta["resource_version"] == Field("resource_version", known["resourceVersion"], aliases=("resourceVersion",))
    assert resolved(fields["metadata"].shape).make is client.V1ObjectMeta
    assert at(shape, "metadata", "owner_references", "[]").make is client.V1OwnerReference


def test_required_fields_of_client_models():
    spec = fields_of(at(shape_of_type(client.V1Pod), "spec"))
    assert not spec["containers"].may_be_none
    assert not spec["containers"].may_be_missing
    assert spec["node_name"].may_be_none
    container = spec["containers"].shape
    assert fields_of(at(container, "[]"))["name"].may_be_none is False
    assert at(container, "[]", "resources", "requests") == QUANTITIES
    assert fields_of(shape_of_type(client.V1OwnerReference))["uid"].may_be_none is False
    assert at(shape_of_type(client.V1ServicePort), "target_port") == Either((Whole(1, 65535), Text()))
    assert at(shape_of_type(client.V1Secret), "data").value == Text(examples=("", "YWRtaW4="))
    assert fields_of(shape_of_type(client.V1PodTemplateSpec))["metadata"].may_be_none
    assert at(shape_of_type(client.V1StatefulSet), "kind") == Choice(("StatefulSet",))


@pytest.mark.parametrize(
    "name", ["V1Pod", "V1Service", "V1Node", "CoreV1Event", "V1Deployment", "V1Secret", "V1LimitRange"]
)
def test_client_models_accept_what_is_made(name):
    for_all(shape_of_client_model(getattr(client, name)), examples=8)


def test_client_models_within_other_types():
    @dataclass
    class Entry:
        pod: client.V1Pod
        seen: int = 0

    assert at(shape_of_type(Entry), "pod").make is client.V1Pod


class V1OldThing:
    openapi_types = {  # noqa: RUF012
        "api_version": "str",
        "kind": "str",
        "metadata": "V1ObjectMeta",
        "port": "int",
        "names": "list[str]",
        "limits": "dict(str, str)",
        "others": "dict(str, list[V1OldThing])",
        "when": "datetime",
        "free": "object",
    }
    attribute_map = {name: name for name in openapi_types} | {"api_version": "apiVersion"}

    def __init__(self, local_vars_configuration=None, **given):
        self.local_vars_configuration = local_vars_configuration or types.SimpleNamespace(client_side_validation=True)
        self._port = None
        for name in self.openapi_types:
            setattr(self, name, given.get(name))

    @property
    def port(self):
        return self._port

    @port.setter
    def port(self, port):
        if self.local_vars_configuration.client_side_validation and port is None:
            raise ValueError("Invalid value for `port`, must not be `None`")
        self._port = port


class V1ObjectMeta:
    openapi_types = {"name": "str", "labels": "dict(str, str)", "managed_fields": "list[object]"}  # noqa: RUF012
    attribute_map = {name: name for name in openapi_types}  # noqa: RUF012

    def __init__(self, local_vars_configuration=None, name=None, labels=None, managed_fields=None):
        self.local_vars_configuration = local_vars_configuration
        self.name, self.labels, self.managed_fields = name, labels, managed_fields


class V1Odd:
    openapi_types = {"what": "V1Elsewhere"}  # noqa: RUF012
    attribute_map = {"what": "what"}  # noqa: RUF012


def test_models_of_older_clients():
    shape = shape_of_type(V1OldThing)
    fields = fields_of(shape)
    assert shape.make is V1OldThing
    assert fields["port"] == Field("port", Whole(1, 65535), False, False)
    assert not fields["metadata"].may_be_none
    assert fields["kind"].shape == Choice(("OldThing",))
    assert fields["api_version"].aliases == ("apiVersion",)
    assert fields["names"].shape == Listing(Text())
    assert fields["limits"].shape == QUANTITIES
    assert resolved(fields["others"].shape.value.item) is shape
    assert fields["when"] == Field("when", Moment())
    assert fields["free"].shape == Anything()
    meta = at(shape, "metadata")
    assert at(meta, "labels") == LABELS
    assert at(meta, "name").format is Format.NAME
    for_all(shape, examples=10)
    with pytest.raises(ShapeError, match=r"V1Odd.what has the type 'V1Elsewhere', which is not found near the class"):
        shape_of_type(V1Odd)


# --- schemas ---------------------------------------------------------------------------------------------------------


def schema_at(schema: dict[str, Any]) -> Field:
    """The field ``x`` of an object with that schema."""
    return fields_of(shape_of_schema({"type": "object", "properties": {"x": schema}}))["x"]


@pytest.mark.parametrize(
    ("schema", "shape"),
    [
        ({}, Anything()),
        ({"type": "string"}, Text()),
        ({"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^a"}, Text(least=1, most=3, pattern="^a")),
        ({"pattern": r"^\d+$"}, Text(pattern=r"(?a)^\d+\Z")),
        ({"pattern": r"^[$[:alpha:]]\$$"}, Text(pattern=r"^[$A-Za-z]\$\Z")),
        ({"type": "string", "format": "date-time"}, Text(Format.TIME)),
        ({"type": "boolean"}, Flag()),
        ({"type": "integer"}, Whole()),
        ({"type": "integer", "format": "int32", "minimum": 0}, Whole(0, 2**31 - 1)),
        ({"type": "integer", "format": "int64"}, Whole(-(2**63), 2**63 - 1)),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True, "exclusiveMaximum": 5}, Whole(2, 4)),
        ({"type": "integer", "minimum": 1.5}, Whole(2)),
        ({"type": "number", "minimum": 0, "maximum": 1.5}, Either((Fraction(0.0, 1.5), Whole(0, 1)))),
        ({"type": "number", "minimum": 0.1, "maximum": 0.9, "format": "double"}, Fraction(0.1, 0.9)),
        ({"enum": ["a", 1, True]}, Choice(("a", 1, True))),
        ({"type": "string", "enum": ["a", 1]}, Choice(("a",))),
        ({"const": 3}, Choice((3,))),
        ({"type": "array"}, Listing(Anything())),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2}, Listing(Text(), 1, 2)),
        ({"type": "object"}, Table(Text(), Anything())),
        ({"additionalProperties": {"type": "integer"}, "maxProperties": 2}, Table(Text(), Whole(), most=2)),
        ({"type": "object", "additionalProperties": False}, Record((), name="x")),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, Either((Text(), Whole()))),
        ({"type": "string", "oneOf": [{"maxLength": 2}, {"minLength": 4}]}, Either((Text(most=2), Text(least=4)))),
        ({"allOf": [{"type": "string", "minLength": 1}, {"minLength": 2, "maxLength": 5}]}, Text(least=2, most=5)),
        ({"x-kubernetes-int-or-string": True}, Either((Whole(-(2**31), 2**31 - 1), Text()))),
        ({"type": ["integer", "string"]}, Either((Whole(), Text()))),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, Table(Text(), Anything())),
        ({"x-kubernetes-preserve-unknown-fields": True}, Anything()),
        ({"type": "string", "unheard-of": 1}, Text()),
    ],
)
def test_schemas(schema, shape):
    assert schema_at(schema) == Field("x", shape, may_be_missing=True, may_be_none=False)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "nullable": True},
        {"type": ["string", "null"]},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"nullable": True, "allOf": [{"type": "string"}]},
        {"oneOf": [{"type": "string"}], "nullable": True},
    ],
)
def test_null_where_the_schema_allows_it(schema):
    assert schema_at(schema) == Field("x", Text(), may_be_missing=True, may_be_none=True)


def test_a_recursive_schema():
    document = {
        "$defs": {
            "node": {
                "type": "object",
                "required": ["value", "children"],
                "properties": {
                    "value": {"$ref": "#/$defs/a~1b"},
                    "next": {"allOf": [{"$ref": "#/$defs/node"}], "nullable": True},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                },
            },
            "a/b": {"type": "integer"},
        },
        "$ref": "#/$defs/node",
    }
    shape = shape_of_schema(document)
    assert at(shape, "value") == Whole()
    assert fields_of(shape)["next"].may_be_none
    assert at(shape, "next", "next", "children", "[]", "value") == Whole()
    for_all(shape)
    with pytest.raises(ShapeError, match="refers to nothing but itself"):
        shape_of_schema({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}})
    with pytest.raises(ShapeError, match="refers to nothing but itself"):
        shape_of_schema({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}, {"type": "object"}]}}})
    with pytest.raises(ShapeError, match="no object ever ends"):
        shape_of_schema({"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}})
    with pytest.raises(ShapeError, match=r"'#/\$defs/nod', which is not there; did you mean node\?"):
        shape_of_schema({**document, "$ref": "#/$defs/nod"})
    with pytest.raises(ShapeError, match="outside of its document"):
        shape_of_schema({"$ref": "other.json#/a"})


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "text"}, "x has the type 'text'"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "x must be at least 3, but at most 2"),
        ({"type": "string", "minLength": 3, "maxLength": 2}, "x must have 3 characters, but at most 2"),
        ({"type": "string", "pattern": "("}, "the pattern .* of x is none in Python"),
        ({"allOf": [{"type": "string"}, {"type": "object"}]}, "x must be string and object at the same time"),
        ({"allOf": [{"enum": [1]}, {"enum": [2]}]}, "x must be one of"),
        ({"type": "string", "enum": [1]}, "x allows no value"),
        ({"type": "object", "properties": {"a": {}}, "minProperties": 2}, "x has 1 fields"),
    ],
)
def test_schemas_without_objects(schema, message):
    with pytest.raises(ShapeError, match=message):
        schema_at(schema)


def test_what_is_made_is_valid():
    schema: dict[str, Any] = {
        "type": "object",
        "required": ["size", "extra"],
        "additionalProperties": {"type": "boolean"},
        "properties": {
            "size": {"type": "integer", "exclusiveMinimum": 0, "maximum": 10},
            "opt": {"type": ["string", "null"], "pattern": r"^\d{2,3}$"},
            "ratio": {"type": "number", "minimum": 0, "exclusiveMaximum": 1.5},
            "tags": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 5}, "maxProperties": 2},
            "source": {
                "type": "object",
                "properties": {"git": {"type": "string"}, "http": {"type": "string"}, "branch": {"type": "string"}},
                "oneOf": [{"required": ["git"]}, {"required": ["http"]}],
            },
            "one": {
                "type": "object",
                "minProperties": 1,
                "maxProperties": 1,
                "properties": {"a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": "boolean"}},
            },
            "list": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"enum": ["a", None, 1]}},
            "both": {"allOf": [{"type": "string", "pattern": "^a"}, {"pattern": "b$"}]},
            "never": False,
        },
    }
    validator = jsonschema.Draft202012Validator(schema)
    for_all(shape_of_schema(schema), validator.validate, examples=60)


CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "spec": {
        "group": "example.com",
        "names": {"kind": "Widget"},
        "versions": [
            {
                "name": "v1alpha1",
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"old": {"type": "string"}}}},
            },
            {
                "name": "v1",
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "required": ["spec"],
                        "properties": {
                            "apiVersion": {"type": "string"},
                            "kind": {"type": "string"},
                            "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 20}}},
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "replicas": {"type": "integer"},
                                    "template": {"type": "object", "properties": {"metadata": {"type": "object"}}},
                                    "embedded": {"type": "object", "x-kubernetes-embedded-resource": True},
                                },
                            },
                        },
                    }
                },
            },
        ],
    },
}


def test_custom_resource_definitions():
    shape = shape_of_schema(CRD)
    assert isinstance(shape, Record)
    assert (shape.name, shape.style) == ("Widget", Style.ITEMS)
    assert shape.fields[:2] == (
        Field("apiVersion", Choice(("example.com/v1",)), may_be_missing=True, may_be_none=False),
        Field("kind", Choice(("Widget",)), may_be_missing=True, may_be_none=False),
    )
    fields = fields_of(shape)
    assert not fields["metadata"].may_be_missing
    assert at(shape, "metadata", "name").most == 20
    assert at(shape, "metadata", "labels") == LABELS
    assert not fields["spec"].may_be_missing
    assert at(shape, "spec", "replicas") == Whole(-(2**63), 2**63 - 1)
    assert at(shape, "spec", "template", "metadata") == metadata(MANIFEST)
    assert fields_of(at(shape, "spec", "template"))["metadata"].may_be_missing
    assert [one.name for one in at(shape, "spec", "embedded").fields] == ["apiVersion", "kind", "metadata"]
    old = shape_of_schema(CRD, "v1alpha1")
    assert fields_of(old)["apiVersion"].shape == Choice(("example.com/v1alpha1",))
    assert at(old, "old") == Text()
    with pytest.raises(ShapeError, match=r"Widget has no version 'v1alpha'; did you mean v1alpha1.*\?"):
        shape_of_schema(CRD, "v1alpha")


META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


@pytest.mark.parametrize("version", [2, 3])
def test_open_api_documents(version):
    prefix = "#/definitions/" if version == 2 else "#/components/schemas/"
    schemas = {
        "io.k8s.api.core.v1.Pod": {
            "type": "object",
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": {"$ref": prefix + META},
                "spec": {"allOf": [{"$ref": prefix + "io.k8s.api.core.v1.PodSpec"}], "default": {}},
            },
            "x-kubernetes-group-version-kind": [{"group": "", "kind": "Pod", "version": "v1"}],
        },
        "io.k8s.api.core.v1.PodSpec": {
            "type": "object",
            "properties": {
                "memory": {"$ref": prefix + "io.k8s.apimachinery.pkg.api.resource.Quantity"},
                "port": {"$ref": prefix + "io.k8s.apimachinery.pkg.util.intstr.IntOrString"},
            },
        },
        "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "string"},
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"type": "string", "format": "int-or-string"},
        META: {"type": "object", "properties": {"name": {"type": "string"}}},
    }
    document: dict[str, Any] = {"swagger": "2.0", "definitions": schemas}
    if version == 3:
        document = {"openapi": "3.0.0", "components": {"schemas": schemas}}
    for name in ("Pod", "v1.Pod", "io.k8s.api.core.v1.Pod"):
        shape = shape_of_schema(document, name)
        assert isinstance(shape, Record)
        assert shape.name == "Pod"
        assert fields_of(shape)["apiVersion"].shape == Choice(("v1",))
        assert at(shape, "metadata") == metadata(MANIFEST)
        assert at(shape, "spec", "memory") == Text(Format.QUANTITY)
        assert at(shape, "spec", "port") == Either((Whole(-(2**31), 2**31 - 1), Text()))
    with pytest.raises(ShapeError, match=r"no schema 'Podd'; did you mean io.k8s.api.core.v1.Pod\?"):
        shape_of_schema(document, "Podd")
    with pytest.raises(ShapeError, match=r"holds 5 schemas; say which one: io.k8s.api.core.v1.Pod, "):
        shape_of_schema(document)


def test_schemas_of_pydantic():
    shape = shape_of_schema(Model.model_json_schema())
    validator = jsonschema.Draft202012Validator(Model.model_json_schema())
    for_all(shape, validator.validate)


# --- samples ---------------------------------------------------------------------------------------------------------


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}}, "spec": spec}


PODS = [
    pod(
        "web-0",
        nodeName="n1",
        nodeSelector={"disk/type": "ssd"},
        containers=[{"name": "a", "resources": {"limits": {"cpu": "1"}}}],
    ),
    pod("web-1", nodeName=None, containers=[{"name": "b", "image": "nginx"}, {"name": "c"}]),
]


def test_one_shape_for_all_samples():
    shape = shape_of_samples(PODS)
    assert isinstance(shape, Record)
    assert shape.name == "Pod"
    fields = fields_of(shape)
    assert fields["kind"] == Field("kind", Choice(("Pod",)), False, False)
    assert fields["apiVersion"] == Field("apiVersion", Choice(("v1",)), False, False)
    assert (fields["metadata"].may_be_missing, fields["metadata"].may_be_none) == (False, False)
    assert (fields["spec"].may_be_missing, fields["spec"].may_be_none) == (True, False)
    name = fields_of(fields["metadata"].shape)["name"]
    assert (name.shape.format, name.shape.examples) == (Format.NAME, ("web-0", "web-1"))
    assert name.may_be_missing
    assert name.may_be_none
    labels = at(shape, "metadata", "labels")
    assert (labels.key.format, labels.key.examples) == (Format.LABEL_KEY, ("app",))
    assert (labels.value.format, labels.value.examples) == (Format.LABEL_VALUE, ("web-0", "web-1"))
    assert set(fields_of(fields["metadata"].shape)) == {one.name for one in metadata(MANIFEST).fields}
    spec = fields_of(fields["spec"].shape)
    assert (spec["nodeName"].may_be_missing, spec["nodeName"].may_be_none) == (False, True)
    assert spec["nodeName"].shape.format is Format.NAME
    assert (spec["nodeSelector"].may_be_missing, spec["nodeSelector"].may_be_none) == (True, False)
    assert isinstance(spec["nodeSelector"].shape, Table)
    container = fields_of(at(spec["containers"].shape, "[]"))
    assert not container["name"].may_be_missing
    assert container["image"].may_be_missing
    assert container["image"].shape.examples == ("nginx",)
    limits = at(container["resources"].shape, "limits")
    assert (limits.value.format, limits.value.examples) == (Format.QUANTITY, ("1",))
    assert all(is_legal(one, shape) for one in PODS)


def test_samples_of_a_custom_kind():
    samples = [
        {
            "kind": "Widget",
            "metadata": {"name": "Not A Name", "managedFields": [{"manager": "me"}]},
            "data": {"a.txt": "x"},
            "spec": {"size": 1, "ratio": 0.5, "mixed": 1, "on": True, "list": [], "none": None,
                     "when": "2024-01-01T00:00:00Z", "owners": {f"team-{n}": n}, "big": 2**40,
                     "empty": {}, "signed": -1, "lists": [[1], ["a"]]},
        }
        for n in range(2)
    ]  # fmt: skip
    samples[1]["spec"]["mixed"] = "one"
    samples[1]["spec"]["ratio"] = 2
    shape = shape_of_samples(samples)
    spec = at(shape, "spec")
    assert at(shape, "metadata", "name") == Text(examples=("Not A Name",))
    assert fields_of(at(shape, "metadata"))["managedFields"].may_be_none
    assert at(shape, "data") == Table(Text(Format.LABEL_KEY, examples=("a.txt",)), Text(examples=("x",)))
    assert at(spec, "size") == Whole(0, 2**31 - 1)
    assert at(spec, "signed") == Whole(-(2**31), 2**31 - 1)
    assert at(spec, "big") == Whole(0, 2**63 - 1)
    assert at(spec, "ratio") == Either((Fraction(), Whole(0, 2**31 - 1)))
    assert at(spec, "mixed") == Either((Whole(0, 2**31 - 1), Text(examples=("one",))))
    assert at(spec, "on") == Flag()
    assert at(spec, "list") == Listing(Anything(), most=0)
    assert at(spec, "lists", "[]") == Listing(Either((Whole(0, 2**31 - 1), Text(examples=("a",)))))
    assert at(spec, "when") == Text(Format.TIME, examples=("2024-01-01T00:00:00Z",))
    assert fields_of(spec)["none"] == Field("none", Nothing(), False, True)
    assert at(spec, "owners").key.examples == ("team-0", "team-1")
    assert at(spec, "empty") == Record((), name="empty")
    assert all(is_legal(one, shape) for one in samples)
    for_all(shape)


def test_keys_that_differ_widely_are_no_fields():
    samples = [{"kind": "Map", "spec": {"teams": {f"team{n}{part}": n for part in "ab"}}} for n in range(4)]
    assert isinstance(at(shape_of_samples(samples), "spec", "teams"), Table)
    alike = [
        {"kind": "Map", "spec": {"volume": {"name": "a", kind: {}}}}
        for kind in ("secret", "configMap", "csi", "nfs", "hostPath")
    ]
    volume = fields_of(at(shape_of_samples(alike), "spec", "volume"))
    assert not volume["name"].may_be_missing
    assert volume["csi"].may_be_missing


def test_samples_of_several_kinds():
    shape = shape_of_samples([*PODS, {"kind": "Node", "metadata": {"name": "n"}}])
    assert isinstance(shape, Either)
    assert [one.name for one in shape.options] == ["Pod", "Node"]
    unnamed = shape_of_samples([PODS[0], {"metadata": {"name": "n"}}])
    assert fields_of(unnamed)["kind"] == Field("kind", Choice(("Pod",)), True, False)
    assert shape_of_samples([{"a": 1}, {"a": None, "b": "x"}]) == Record(
        (Field("a", Whole(0, 2**31 - 1), False, True), Field("b", Text(examples=("x",)), True, False))
    )


@pytest.mark.parametrize("samples", [[], [{"a": object()}], [{1: 2}], [{"a": datetime(2024, 1, 1)}]])
def test_samples_that_are_no_plain_values(samples):
    with pytest.raises(ShapeError):
        shape_of_samples(samples)


def test_files_of_samples(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.yaml").write_text(
        "kind: List\nitems:\n- {kind: Pod, metadata: {creationTimestamp: 2024-01-01T00:00:00Z}}\n- kind: Node\n"
        "---\n# nothing\n---\nkind: Secret\ndata: {2: a, true: b, 2024-01-01: c}\n"
    )
    (tmp_path / "deep" / "b.json").write_text(json.dumps([{"kind": "Job"}, {"kind": "PodList", "items": [{"a": 1}]}]))
    (tmp_path / "deep" / "notes.txt").write_text("no manifest")
    found = [
        {"kind": "Pod", "metadata": {"creationTimestamp": "2024-01-01T00:00:00Z"}},
        {"kind": "Node"},
        {"kind": "Secret", "data": {"2": "a", "true": "b", "2024-01-01": "c"}},
        {"kind": "Job"},
        {"a": 1},
    ]
    assert read_samples([tmp_path]) == found
    assert read_samples([tmp_path / "deep" / "b.json", tmp_path / "a.yaml"]) == [*found[3:], *found[:3]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.yaml", b"a: 1\nb: [1\nc: 2\n", r"a\.yaml:3: "),
        ("a.yml", b"a: 1\nb: !!python/object:os.system {}\n", r"a\.yml:2: "),
        ("a.json", b'{\n"a": }', r"a\.json:2: "),
        ("a.yaml", b"a: \xff", r"a\.yaml is not UTF-8"),
        ("a.yaml", b"a: \x01", r"a\.yaml: special characters are not allowed"),
        ("a.yaml", b"# nothing\n", r"a\.yaml holds no objects"),
        ("a.json", b"", r"a\.json holds no objects"),
        ("a.yaml", b"a: &a [*a]\n", r"a\.yaml refers to itself"),
        ("a.yaml", b"a: !!binary YQ==\n", r"a\.yaml holds a bytes"),
    ],
)
def test_broken_files(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ShapeError, match=message):
        read_samples([tmp_path / name])
    with pytest.raises(ShapeError, match=r"missing.yaml does not exist"):
        read_samples([tmp_path / "missing.yaml"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ShapeError, match="empty holds no objects"):
        read_samples([tmp_path / "empty"])
