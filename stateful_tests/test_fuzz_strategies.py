"""Everything that is made is valid, and as often as its weight says."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kcache_conformance.fuzzing.judging.validity import is_valid
from kcache_conformance.fuzzing.objects.strategies import ObjectMaker
from kcache_conformance.fuzzing.objects.text_strategies import TextMaker
from kcache_conformance.fuzzing.objects.texts import NUMERIC, POOLS, UNICODE, is_valid_text, variants
from kcache_conformance.fuzzing.objects.weights import mostly, weighted
from kcache_conformance.fuzzing.schemas.kubernetes import AS_DICT, DYNAMIC, MANIFEST, MODEL, kinds
from kcache_conformance.fuzzing.schemas.schema import Format, Record, Text
from kcache_conformance.fuzzing.static_analysis import Reading, read

_DATE = re.compile(r"(\d{4})-\d\d-\d\dT.*Z")


def _by_zone_and_image(obj):
    """Names fields of many kinds, texts with separators, patterns, numbers."""
    zone = obj.metadata.labels.get("topology.kubernetes.io/zone", "")
    found = _DATE.match(obj.metadata.creation_timestamp or obj["metadata"]["creationTimestamp"])
    image = obj.spec.containers[0].image.rpartition(":")
    claims = [volume.persistent_volume_claim.claim_name for volume in obj["spec"]["volumes"]]
    ports = [port for port in obj.spec.ports if port.number > 1024]
    return [
        zone,
        image,
        *claims,
        found,
        *ports,
        obj.status.phase == "Failed",
        len(obj.spec.rules) > 7,
        obj.data["ca.crt"],
    ]


_READINGS = {"nothing": Reading(), "much": read(_by_zone_and_image)}
_KINDS = {
    f"{record.name}-{manner.style.value}-{'camel' if manner.is_camel else 'snake'}": record
    for manner in (MODEL, MANIFEST, DYNAMIC, AS_DICT)
    for record in kinds(manner)
}


def _reads(reading: Reading) -> Any:
    return lambda field: reading.reads(field.name, *field.aliases)


def _for_each(examples: int) -> Any:
    return settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=True,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.one_in(10)
@pytest.mark.parametrize(
    ("reading", "is_whole"), [(_READINGS["much"], False), (_READINGS["nothing"], True)], ids=["pruned", "whole"]
)
@pytest.mark.parametrize("record", _KINDS.values(), ids=_KINDS)
def test_what_is_made_is_valid(record: Record, reading: Reading, is_whole: bool):
    @_for_each(settings.default.max_examples // 40)
    @given(ObjectMaker(reading, is_whole=is_whole).strategy(record))
    def run(obj: Any) -> None:
        assert is_valid(obj, record, _reads(reading))

    run()


# --- Texts ---------------------------------------------------------------------------------------------------------

_LOWER, _DIGITS = set("abcdefghijklmnopqrstuvwxyz"), set("0123456789")
_LETTERS = _LOWER | set("ABCDEFGHIJKLMNOPQRSTUVWXYZ")


def _is_label(text: str) -> bool:
    return bool(text) and set(text) <= _LOWER | _DIGITS | {"-"} and "-" not in (text[0], text[-1])


def _is_name(text: str) -> bool:
    return all(map(_is_label, text.split(".")))


def _is_value(text: str) -> bool:
    allowed = _LETTERS | _DIGITS
    return bool(text) and set(text) <= allowed | set("-_.") and {text[0], text[-1]} <= allowed


def _is_key(text: str) -> bool:
    prefix, slash, name = text.partition("/")
    if not slash:
        prefix, name = "", text
    return _is_value(name) and len(name) <= 63 and (not slash or (_is_name(prefix) and len(prefix) <= 253))


def _is_quantity(text: str) -> bool:
    """A number, then a suffix; as apimachinery's ``ParseQuantity`` reads it, character by character."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    number = rest[: next((place for place, sign in enumerate(rest) if sign not in _DIGITS | {"."}), len(rest))]
    suffix = rest[len(number) :]
    if number.count(".") > 1 or not set(number) & _DIGITS:
        return False
    if suffix in ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "n", "u", "m", "k", "M", "G", "T", "P", "E"):
        return True
    exponent = suffix[2:] if suffix[1:2] in ("+", "-") else suffix[1:]
    return suffix[0] in "eE" and bool(exponent) and set(exponent) <= _DIGITS


def _is_time(text: str) -> bool:
    seconds, dot, fraction = text.removesuffix("Z").partition(".")
    if not text.endswith("Z") or not text.isascii() or len(seconds) != 19 or (dot and not fraction.isdigit()):
        return False
    try:
        return datetime.strptime(seconds, "%Y-%m-%dT%H:%M:%S").isoformat() == seconds
    except ValueError:
        return False


_CHECKERS = {
    Format.FREE: lambda text: True,
    Format.NAME: lambda text: text == "" or (_is_name(text) and len(text) <= 253),
    Format.LABEL: lambda text: text == "" or (_is_label(text) and len(text) <= 63),
    Format.LABEL_KEY: _is_key,
    Format.LABEL_VALUE: lambda text: text == "" or _is_value(text),
    Format.QUANTITY: _is_quantity,
    Format.DIGITS: lambda text: set(text) <= _DIGITS and (text == "0" or not text.startswith("0")),
    Format.TIME: _is_time,
}
_POOL = sorted({*NUMERIC, *UNICODE, *(text for pool in POOLS.values() for text in pool)})
_CLOSE = (
    "2024-13-01T00:00:00Z", "2023-02-29T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:00:00.Z", "2024-01-01",
    "2024-01-01T00:00:00+00:00", "2024-01-01 00:00:00Z", "1Ki1", "1e", "1e+", "1.2.3", ".", "+", "1K", "1mi", "1EE",
    "00", "01", "a..b", ".a", "a.", "a-", "-a", "a/", "/a", "a/b/c", "A/a", "a/A", "a" * 63, "a" * 64, "a" * 254,
    "a/" + "b" * 63, "a/" + "b" * 64, "a" * 253 + "/b", "a" * 254 + "/b", "a_", "_", "a\n", "a.b\n", "1\n",
    "2024-01-01T00:00:00Z\n", "\u0660", "\u0661\u0662", "\u0391",
)  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", Format, ids=lambda kind: kind.name)
@settings(max_examples=40)
@given(data=st.data())
def test_validity_is_what_another_checker_says(kind: Format, data: st.DataObject):
    schema = Text(kind, most={Format.NAME: 253, Format.LABEL: 63}.get(kind))
    texts = [
        *_POOL,
        *_CLOSE,
        *data.draw(st.lists(st.text("aA0.-_/:+eEKiTZ\n\u0661", max_size=9), max_size=20)),
        *data.draw(st.lists(TextMaker(Reading()).strategy(schema), max_size=5)),
    ]
    for text in [*texts, *(variant for one in texts[-3:] for variant in variants(one))]:
        assert is_valid_text(text, schema) == _CHECKERS[kind](text), text


def test_further_bounds_of_texts():
    assert is_valid_text("abc", Text(least=3, most=3, pattern="b"))
    assert not is_valid_text("abc", Text(least=4))
    assert not is_valid_text("abc", Text(most=2))
    assert not is_valid_text("abc", Text(pattern="^b"))
    assert not is_valid_text("\ud800", Text())
    assert is_valid_text("Not a Name", Text(Format.NAME, examples=("Not a Name",)))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("schema", [*map(Text, Format), Text(Format.NAME, 1, 9), Text(pattern="^x{2}"), Text(least=30)])
def test_texts_are_valid_where_they_stand(schema: Text):
    @_for_each(60)
    @given(TextMaker(_READINGS["much"]).strategy(schema))
    def run(text: str) -> None:
        assert is_valid_text(text, schema)

    run()


def test_texts_of_the_code_are_tried():
    seen: set[str] = set()

    @_for_each(300)
    @given(TextMaker(_READINGS["much"]).strategy(Text()))
    def run(text: str) -> None:
        seen.add(text)

    run()
    assert {"topology.kubernetes.io/zone", "Failed"} <= seen
    assert any(_DATE.match(text) for text in seen)


# --- Weights -------------------------------------------------------------------------------------------------------


def _counted(strategy: st.SearchStrategy[Any], number: int = 1000) -> Counter[Any]:
    seen: Counter[Any] = Counter()

    @_for_each(number)
    @given(st.tuples(strategy, st.integers()))
    def run(drawn: Any) -> None:
        seen[drawn[0]] += 1

    run()
    return seen


def test_weights():
    seen = _counted(weighted((1, st.just("seldom")), (8, st.just("often")), (1, st.just("seldom, too"))))
    assert seen["often"] > 3 * max(seen["seldom"], seen["seldom, too"])
    assert min(seen.values()) > 30
    assert weighted((5, alone := st.just(1))) is alone


def test_mostly():
    seen = _counted(mostly(st.just("value"), none_in=5))
    assert seen["value"] > 2 * seen[None] > 100


@pytest.mark.parametrize("strategy", [weighted((2, st.just(1)), (2, st.just(2))), mostly(st.just(1), none_in=3)])
def test_shrinking_goes_to_the_first_choice(strategy: st.SearchStrategy[int]):
    @settings(database=None, derandomize=True, print_blob=False, report_multiple_bugs=False)
    @given(strategy)
    def run(value: int) -> None:
        raise AssertionError(value)

    with pytest.raises(AssertionError) as caught:
        run()
    assert caught.value.args == (1,)


def test_models_have_all_fields_that_are_read():
    pod = next(record for record in kinds(MODEL) if record.name == "Pod")

    @_for_each(50)
    @given(ObjectMaker(_READINGS["much"]).strategy(pod))
    def run(obj: Any) -> None:
        assert set(vars(obj)) >= {"metadata", "spec", "status"}
        assert not hasattr(obj, "kind") or obj.kind in (None, "Pod")

    run()
