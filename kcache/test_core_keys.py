from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcache import (
    DeletedFinalStateUnknown,
    ExplicitKey,
    KeyFormatError,
    NoMetadataError,
    deletion_handling_meta_namespace_key_func,
    label_index_func,
    meta_namespace_index_func,
    meta_namespace_key_func,
    new_indexer,
    split_meta_namespace_key,
)

_NO_META = "object has no meta: object does not implement the Object interfaces"


def _manifest(name: str | None, namespace: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace, **fields}}


_KEYS: list[tuple[object, str]] = [
    (_manifest("n", "ns"), "ns/n"),
    (_manifest("n"), "n"),
    (_manifest("n", ""), "n"),
    (_manifest("", "ns"), "ns/"),
    (_manifest(None, "ns"), "ns/"),
    (_manifest("", ""), ""),
    ({"metadata": {}}, ""),
    (_manifest("a/b"), "a/b"),
    (_manifest("b", "a"), "a/b"),
    (_manifest("ü", "\U0001f600"), "\U0001f600/ü"),
    (ExplicitKey("any/thing/at/all"), "any/thing/at/all"),
    (ExplicitKey(""), ""),
    (SimpleNamespace(metadata=SimpleNamespace(name="n", namespace="ns")), "ns/n"),
    (SimpleNamespace(name="n", namespace=None), "n"),
]


@pytest.mark.parametrize("key_func", [meta_namespace_key_func, deletion_handling_meta_namespace_key_func])
@pytest.mark.parametrize(("obj", "key"), _KEYS)
def test_keys(key_func: Any, obj: object, key: str) -> None:
    assert key_func(obj) == key
    assert type(key_func(obj)) is str


@pytest.mark.parametrize("key_func", [meta_namespace_key_func, deletion_handling_meta_namespace_key_func])
@pytest.mark.parametrize(
    "obj", ["a/b", "", b"a/b", 5, None, [], object(), SimpleNamespace(name="n")], ids=lambda obj: type(obj).__name__
)
def test_what_has_no_key(key_func: Any, obj: object) -> None:
    with pytest.raises(NoMetadataError) as caught:
        key_func(obj)
    assert str(caught.value) == _NO_META


def test_a_tombstone_has_a_key_only_where_deletions_are_handled() -> None:
    tombstone = DeletedFinalStateUnknown("a/x", _manifest("other", "z"))
    assert deletion_handling_meta_namespace_key_func(tombstone) == "a/x"
    assert deletion_handling_meta_namespace_key_func(DeletedFinalStateUnknown("k", None)) == "k"
    with pytest.raises(NoMetadataError):
        meta_namespace_key_func(tombstone)


def test_an_explicit_key_is_a_str_of_its_own_type() -> None:
    key = ExplicitKey("a/b")
    assert key == "a/b"
    assert hash(key) == hash("a/b")
    assert isinstance(key, str)
    assert not isinstance("a/b", ExplicitKey)
    with pytest.raises(AttributeError):
        key.other = 1  # type: ignore[attr-defined]


def test_tombstones_are_values() -> None:
    obj = _manifest("n")
    assert DeletedFinalStateUnknown("k", obj) == DeletedFinalStateUnknown("k", obj)
    assert DeletedFinalStateUnknown("k", obj) != DeletedFinalStateUnknown("j", obj)
    with pytest.raises(AttributeError):
        DeletedFinalStateUnknown("k", obj).key = "j"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("key", "parts"),
    [
        ("a", ("", "a")),
        ("a/b", ("a", "b")),
        ("", ("", "")),
        ("/", ("", "")),
        ("a/", ("a", "")),
        ("/b", ("", "b")),
        ("kube-system/coredns-1", ("kube-system", "coredns-1")),
        (" / ", (" ", " ")),
    ],
)
def test_split(key: str, parts: tuple[str, str]) -> None:
    assert split_meta_namespace_key(key) == parts


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("a/b/c", '"a/b/c"'),
        ("//", '"//"'),
        ("a/b/", '"a/b/"'),
        ('q"uote/x/y', r'"q\"uote/x/y"'),
        ("back\\slash/x/y", r'"back\\slash/x/y"'),
        ("new\nline/x/y", r'"new\nline/x/y"'),
        ("ü/x/y", '"ü/x/y"'),
    ],
)
def test_keys_of_more_than_two_parts(key: str, shown: str) -> None:
    with pytest.raises(KeyFormatError) as caught:
        split_meta_namespace_key(key)
    assert str(caught.value) == f"unexpected key format: {shown}"
    assert caught.value.key == key
    assert isinstance(caught.value, ValueError)


_PARTS = st.text(st.characters(codec="utf-8", exclude_characters="/"), max_size=8)


@given(_PARTS, _PARTS)
def test_splitting_undoes_joining(namespace: str, name: str) -> None:
    assert split_meta_namespace_key(meta_namespace_key_func(_manifest(name, namespace))) == (namespace, name)


@given(st.text("ab/", max_size=6), st.text("ab/", max_size=6))
def test_a_slash_in_a_name_or_namespace_is_all_that_breaks_the_round_trip(namespace: str, name: str) -> None:
    key = meta_namespace_key_func(_manifest(name, namespace))
    slashes = key.count("/")
    if slashes > 1:
        with pytest.raises(KeyFormatError):
            split_meta_namespace_key(key)
    else:
        same = split_meta_namespace_key(key) == (namespace, name)
        assert same == ("/" not in namespace and "/" not in name)


def test_two_objects_may_collide_in_one_key() -> None:
    store = new_indexer(meta_namespace_key_func)
    store.add(_manifest("a/b"))
    namespaced = _manifest("b", "a")
    store.add(namespaced)
    assert store.list() == [namespaced]


def test_explicit_keys_name_objects_and_can_be_stored_themselves() -> None:
    store = new_indexer(meta_namespace_key_func)
    obj = _manifest("x", "a")
    store.add(obj)
    assert store.get(ExplicitKey("a/x")) is obj
    store.delete(ExplicitKey("a/x"))
    assert store.list() == []
    raw = ExplicitKey("raw")
    store.add(raw)
    assert store.get_by_key("raw") is raw
    assert [type(key) for key in store.list_keys()] == [str]


@pytest.mark.parametrize(
    ("obj", "values"), [(_manifest("n", "ns"), ["ns"]), (_manifest("n"), [""]), (_manifest("n", ""), [""])]
)
def test_namespace_index(obj: object, values: list[str]) -> None:
    assert meta_namespace_index_func(obj) == values


@pytest.mark.parametrize(
    ("obj", "values"),
    [
        (_manifest("n"), []),
        (_manifest("n", labels=None), []),
        (_manifest("n", labels={}), []),
        (_manifest("n", labels={"a": "1", "b": ""}), ["a", "a=1", "b", "b="]),
        (SimpleNamespace(metadata=SimpleNamespace(labels={"a": "1"})), ["a", "a=1"]),
    ],
)
def test_label_index(obj: object, values: list[str]) -> None:
    assert label_index_func(obj) == values


@pytest.mark.parametrize("index_func", [meta_namespace_index_func, label_index_func])
@pytest.mark.parametrize("obj", ["a/b", None, ExplicitKey("a/b"), DeletedFinalStateUnknown("k", None)], ids=repr)
def test_index_functions_need_metadata(index_func: Any, obj: object) -> None:
    with pytest.raises(NoMetadataError):
        index_func(obj)
