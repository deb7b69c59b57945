"""What the code of a function says, what it asks of its argument, and which objects it therefore gets."""

from __future__ import annotations

import functools
import json
import re
import sys
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from kcache.index_funcs import meta_namespace_index_func
from kcache.keys import meta_namespace_key_func
from kcache_conformance.fuzzing.schemas.default import default_schema
from kcache_conformance.fuzzing.schemas.schema import Array, Either, Integer, Map, Record, Style, Text, resolved
from kcache_conformance.fuzzing.static_analysis import Reading, read
from kcache_conformance.fuzzing.static_analysis.reachable import Reachable, nested
from kcache_conformance.fuzzing.tracing.probe import Node, probe

# --- The code ------------------------------------------------------------------------------------------------------

LIMITS = {"tier": ("gold", ["silver"]), "most": 17}
UNUSED = "never mentioned"


def helper(obj):
    return obj.spec.hidden_field == "in a helper"


def calls_helper(obj):
    return helper(obj)


def closure(text: str) -> Any:
    def inner(obj):
        return [text] if helper(obj) else ["inner"]

    return inner


def default_argument(obj, wanted="by default", *, other=("by keyword",)):
    return [wanted, *other]


def uses_global(obj):
    return [obj.status.phase] if LIMITS else []


@functools.lru_cache
def cached(obj):
    return ["in the cache"]


def with_nested(obj):
    """The doc string of the function."""

    def deeper():
        """The doc string of a nested function."""
        return [text for text in obj if text != "in a comprehension"]

    class Local:
        constant = "in a nested class"

    return [*deeper(), Local.constant]


def wrapped(function):
    @functools.wraps(function)
    def wrapper(obj):
        return function(obj) or ["in the wrapper"]

    return wrapper


@wrapped
def decorated(obj):
    return ["in the wrapped one"]


class Index:
    """The doc string of a class."""

    constant = "of the class"

    def __init__(self, label: str, extract: Any = None) -> None:
        self.label, self.extract = label, extract

    def __call__(self, obj):
        return self.method(obj)

    def method(self, obj):
        return [obj.labels[self.label], self.prop, self.later, self.static(), type(self).of_class()]

    @property
    def prop(self):
        return "in a property"

    @functools.cached_property
    def later(self):
        return "in a cached property"

    @staticmethod
    def static():
        return "in a static method"

    @classmethod
    def of_class(cls):
        return "in a class method"


class Child(Index):
    pass


MAP = {"Pod": helper, "Node": [cached]}
ALL_OF_INDEX = (
    "of the class", "given", "in a property", "in a cached property", "in a static method", "in a class method",
)  # fmt: skip
PATTERN = re.compile("[a-z]+-([0-9]+)")


def with_patterns(obj):
    return [PATTERN.match(obj.name)[1], re.fullmatch(r"v\d+", obj.version), obj.name == "a.b"]


def by_map(obj):
    return MAP[obj.kind](obj)


def standard_library(obj):
    return json.loads(obj.metadata.annotations["json"])


def cycle_one(obj):
    return cycle_two(obj) if obj.one else ["end one"]


def cycle_two(obj):
    return cycle_one(obj) if obj.two else ["end two"]


@pytest.mark.parametrize(
    ("function", "texts"),
    [
        (calls_helper, ["in a helper"]),
        (functools.partial(functools.partial(default_argument), wanted="in a partial"), ["in a partial", "by keyword"]),
        (default_argument, ["by default", "by keyword"]),
        (closure("in a cell"), ["in a cell", "in a helper", "inner"]),
        (uses_global, ["tier", "gold", "silver"]),
        (cached, ["in the cache"]),
        (with_nested, ["in a comprehension", "in a nested class"]),
        (decorated, ["in the wrapper", "in the wrapped one"]),
        (Index("given"), ALL_OF_INDEX),
        (Index("given").method, ALL_OF_INDEX),
        (Index("given", extract=helper), ["in a helper"]),
        (Child("given").static, ["in a static method"]),
        (Index.of_class, ["in a class method", "in a property"]),
        (lambda obj: Index("built")(obj), ["built", "in a property"]),
        (by_map, ["Pod", "Node", "in a helper", "in the cache"]),
        (cycle_one, ["end one", "end two"]),
        (lambda obj: b"bytes" in obj, ["bytes"]),
    ],
    ids=range(17),
)
def test_constants_are_found_wherever_the_code_leads(function, texts):
    reading = read(function)
    assert set(texts) <= set(reading.texts)
    assert not [text for text in reading.texts if text in (UNUSED, __name__) or "doc string" in text]


def test_names_are_those_of_the_code_that_may_run():
    reading = read(calls_helper)
    assert reading.reads("hiddenField", "hidden_field")
    assert {"spec", "hidden_field"} <= reading.attributes
    assert not reading.reads("phase")
    assert read(by_map).reads("hidden_field")
    assert read(standard_library).attributes >= {"metadata", "annotations", "loads"}


def test_other_packages_are_not_followed():
    reachable = Reachable(standard_library)
    assert [code.co_name for code in reachable.codes] == ["standard_library"]
    assert read(len) == read(functools.partial(len)) == Reading()
    assert "metadata" in read(meta_namespace_index_func).texts
    assert not {code.co_name for code in Reachable(json.loads).codes} & {"decode"}


def test_numbers_come_with_their_neighbours():
    reading = read(lambda obj: obj.count > 100 or obj.ratio > 2.0 or obj.part > 0.5 or obj.large == 2**80)
    assert {99, 100, 101, 1, 2, 3} <= set(reading.numbers)
    assert not {0, 2**80} & set(reading.numbers)
    assert set(reading.lengths) == set(reading.numbers)
    assert read(lambda obj: obj.count == -1_000_000).lengths == ()
    assert read(lambda obj: True).numbers == ()


def test_patterns():
    assert set(read(with_patterns).patterns) == {"[a-z]+-([0-9]+)", r"v\d+"}


def test_separators_reflection_and_more_texts():
    assert set(read(lambda obj: obj.image.split(":")[0].join(["/", "--", "ab", "---"])).separators) == {":", "/", "--"}
    assert read(lambda obj: vars(obj)).is_reflective
    assert not read(calls_helper).is_reflective
    more = read(calls_helper).enriched(["in a helper", "seen"], [7])
    assert more.texts.count("in a helper") == 1
    assert more.texts[-1] == "seen"
    assert {6, 7, 8} <= set(more.numbers)


def test_nested_values_are_limited():
    deep: Any = "text"
    for _ in range(9):
        deep = [deep]
    assert list(nested(deep)) == []
    assert list(nested({"a": (1, {2})})) == ["a", 1, 2]
    assert len(list(nested(list(range(10**5))))) < 100


# --- What is asked of the object -----------------------------------------------------------------------------------


def paths(node: Node, above: str = "") -> set[str]:
    found = {above} - {""}
    for name, child in node.children.items():
        found |= paths(child, f"{above}.{name}" if above else name)
    return found | (paths(node.element, f"{above}[]") if node.element is not None else set())


@pytest.mark.parametrize(
    ("function", "is_attribute", "is_item", "asked"),
    [
        (lambda obj: [obj.spec.node_name], True, False, {"spec", "spec.node_name"}),
        (lambda obj: [obj["spec"]["nodeName"]], False, True, {"spec", "spec.nodeName"}),
        (lambda obj: [obj.get("spec", {}).get("nodeName")], False, True, {"spec", "spec.nodeName"}),
        (lambda obj: [c.image for c in obj.spec.containers], True, False, {"spec", "spec.containers",
         "spec.containers[]", "spec.containers[].image"}),
        (lambda obj: [obj.spec.containers[0].name], True, False, {"spec", "spec.containers", "spec.containers[]",
         "spec.containers[].name"}),
        (lambda obj: [obj.a] if obj.b else [obj.c], True, False, {"a", "b", "c"}),
        (lambda obj: [obj.a] if "a" in obj else [obj["b"]], True, True, {"a", "b"}),
        (lambda obj: obj.spec and obj.nothing.raises.here(1 / 0), True, False, {"spec", "nothing", "nothing.raises",
         "nothing.raises.here"}),
    ],
)  # fmt: skip
def test_the_probe_notes_what_is_asked(function, is_attribute, is_item, asked):
    node = probe(function)
    assert (node.by_attribute, node.by_item) == (is_attribute, is_item)
    assert paths(node) == asked


def test_the_probe_notes_how_parts_are_used():
    def function(obj):
        for key, value in obj.labels.items():
            str(key + value)
        obj.name.upper()
        return [f"{obj.title}", obj.count > 3, obj.total + 1, obj.kind == "Pod", {obj.uid: 1}, obj.text + "a"]

    children = probe(function).children
    assert children["labels"].is_map
    assert {name for name, child in children.items() if child.is_text} == {"name", "title", "kind", "uid", "text"}
    assert {name for name, child in children.items() if child.is_number} == {"count", "total"}


def _endless_recursion(obj):
    return _endless_recursion(obj.owner)


def _endless_loop(obj):
    while obj.next is not None:
        obj = obj.next


def _endless_growth(obj):
    items = [obj]
    while True:
        items.append(items[-1].inner)


def _raiser(error: BaseException) -> Any:
    def raises(obj):
        raise error

    return raises


def _higher_limit(obj):
    sys.setrecursionlimit(sys.getrecursionlimit() + 10)
    raise ValueError


@pytest.mark.parametrize(
    "function",
    [
        _endless_recursion,
        _endless_loop,
        _endless_growth,
        _higher_limit,
        *map(_raiser, (ValueError(), SystemExit(1), KeyboardInterrupt(), RecursionError(), MemoryError())),
        lambda obj: obj.a.b.c(1)(2)[3]["x"] ** 2 @ ~obj,
        lambda obj: [*obj, *obj.x, dict(obj), list(obj.y.items()), sorted(obj.z), hash(obj), len(obj), reversed(obj)],
        lambda obj: vars(obj).clear(),
        lambda: None,
        lambda obj: setattr(obj, "a", 1),
        lambda obj: obj.__class__ and obj.__dict__.clear(),
        lambda obj: (yield obj.spec),
        print,
        len,
    ],
)
def test_the_probe_ends_quietly(function, capsys):
    limit = sys.getrecursionlimit()
    probe(function)
    assert sys.getrecursionlimit() == limit


def test_manifests_are_tried_as_they_are():
    assert probe(meta_namespace_key_func).takes_manifests
    assert not probe(lambda obj: obj.metadata).takes_manifests
    assert not probe(lambda obj: obj["other"]).takes_manifests


# --- Objects -------------------------------------------------------------------------------------------------------


def schema_for(function: Any) -> Any:
    return default_schema(read(function), probe(function), function)


def at(schema: Any, path: str) -> Any:
    for name in path.split("."):
        schema = resolved(schema)
        if name == "[]":
            schema = schema.item
        else:
            schema = next(one.schema for one in schema.fields if one.name == name)
    return resolved(schema)


def get_all(obj):
    return [volume["persistentVolumeClaim"]["claimName"] for volume in obj["spec"].get("volumes") or []]


def as_model(obj):
    return [v.persistent_volume_claim.claim_name for v in obj.spec.volumes or [] if v.persistent_volume_claim]


@pytest.mark.parametrize(
    ("function", "kind", "style", "path"),
    [
        (get_all, "Pod", Style.ITEMS, "spec.volumes.[].persistentVolumeClaim.claimName"),
        (as_model, "Pod", Style.ATTRIBUTES, "spec.volumes.[].persistent_volume_claim.claim_name"),
        (lambda obj: [obj.spec.nodeName], "Pod", Style.ATTRIBUTES, "spec.nodeName"),
        (lambda obj: [obj["spec"]["node_name"]], "Pod", Style.ITEMS, "spec.node_name"),
        (lambda obj: [obj["spec"]["claimRef"]["name"]], "PersistentVolume", Style.ITEMS, "spec.claimRef.name"),
        (lambda obj: [obj.spec.volume_name], "PersistentVolumeClaim", Style.ATTRIBUTES, "spec.volume_name"),
        (lambda obj: [rule.host for rule in obj.spec.rules], "Ingress", Style.ATTRIBUTES, "spec.rules.[].host"),
        (lambda obj: [obj["involvedObject"]["uid"]], "Event", Style.ITEMS, "involvedObject.uid"),
        (lambda obj: [t.key for t in obj.spec.taints], "Node", Style.ATTRIBUTES, "spec.taints.[].key"),
        (lambda obj: [a["ip"] for s in obj["subsets"] for a in s["addresses"]], "Endpoints", Style.ITEMS, "subsets"),
        (lambda obj: [obj.spec.cluster_ip], "Service", Style.ATTRIBUTES, "spec.cluster_ip"),
        (lambda obj: [obj["metadata"]["name"]], "ConfigMap", Style.ITEMS, "metadata.name"),
    ],
    ids=range(12),
)
def test_kind_and_manner(function, kind, style, path):
    schema = schema_for(function)
    assert isinstance(schema, Record)
    assert (schema.name, schema.style) == (kind, style)
    at(schema, path)


@pytest.mark.parametrize("function", [meta_namespace_index_func, meta_namespace_key_func])
def test_functions_for_both_styles_get_both(function):
    schema = schema_for(function)
    assert isinstance(schema, Either)
    assert {option.style for option in schema.options} == {Style.ITEMS, Style.ATTRIBUTES}


def custom(obj):
    for key, rack in obj["spec"]["racksByZone"].items():
        yield key + rack
    yield from [host["address"].lower() for host in obj["spec"]["hosts"]]
    if obj["spec"]["slots"] > 3 and obj["metadata"]["labels"]["tier"] == "gold":
        yield obj["status"]["assignment"]["operator"]


def test_unknown_fields_make_a_custom_resource():
    schema = schema_for(lambda obj: list(custom(obj)))
    assert {one.name for one in schema.fields} == {"metadata", "spec", "status"}
    assert at(schema, "spec.racksByZone") == Map(Text(), Text())
    assert at(schema, "spec.slots") == Integer()
    assert at(schema, "spec.hosts.[].address") == Text()
    assert isinstance(at(schema, "spec.hosts"), Array)
    assert at(schema, "status.assignment.operator") == Text()
    assert isinstance(at(schema, "metadata.labels"), Map)


@pytest.mark.parametrize(
    ("function", "styles"),
    [
        (lambda obj: [obj.metadata.name], {Style.ATTRIBUTES}),
        (lambda obj: [obj["metadata"]["name"]], {Style.ITEMS}),
        (lambda obj: [obj.metadata.name] if hasattr(obj, "x") else [obj["metadata"]], {Style.ITEMS, Style.ATTRIBUTES}),
        (lambda obj: [], {Style.ATTRIBUTES}),
    ],
    ids=range(4),
)
def test_where_nothing_was_asked_the_code_decides(function, styles):
    schema = default_schema(read(function), Node())
    assert {option.style for option in getattr(schema, "options", [schema])} == styles


def _raises_its_own(obj):
    raise SystemExit(obj["metadata"]["name"])


def test_functions_that_raise_anything_get_objects():
    assert schema_for(_raises_its_own).style is Style.ITEMS


def test_an_object_without_metadata():
    schema = schema_for(lambda obj: [obj.team, obj.owner.name])
    assert {one.name for one in schema.fields} == {"team", "owner"}
    assert schema.style is Style.ATTRIBUTES
    assert not any(one.may_be_missing for one in schema.fields)


def test_a_function_that_asks_for_nothing():
    assert isinstance(resolved(schema_for(lambda obj: [])), Record)


@dataclass
class Kept:
    calls: list[Any] = field(default_factory=list)

    def __call__(self, obj: Any) -> list[str]:
        self.calls.append(obj)
        return [obj.spec.node_name]


def test_the_schema_does_not_depend_on_what_was_called_before():
    function = Kept()
    first = schema_for(function)
    function(SimpleNamespace(spec=SimpleNamespace(node_name="a")))
    assert schema_for(function) == first == schema_for(lambda obj: [obj.spec.node_name])
