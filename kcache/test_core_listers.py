from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcache import (
    NAMESPACE_INDEX,
    Cache,
    NoMetadataError,
    everything,
    list_all,
    list_all_by_namespace,
    meta_namespace_index_func,
    meta_namespace_key_func,
    new_indexer,
    nothing,
    parse_selector,
)

_NO_META = "object has no meta: object does not implement the Object interfaces"


def _pod(name: str, namespace: str = "", **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace, "labels": labels}}


_PODS = [_pod("x", "a", app="web"), _pod("y", "a", app="db"), _pod("x", "b", app="web"), _pod("c", app="web")]


def _indexed(*objs: Any) -> Cache[Any]:
    store: Cache[Any] = new_indexer(meta_namespace_key_func, {NAMESPACE_INDEX: meta_namespace_index_func})
    store.replace(objs or _PODS)
    return store


def _unindexed(*objs: Any) -> Cache[Any]:
    store: Cache[Any] = new_indexer(meta_namespace_key_func, {"other": lambda obj: []})
    store.replace(objs or _PODS)
    return store


def _keys(objs: list[Any]) -> list[str]:
    return sorted(map(meta_namespace_key_func, objs))


@pytest.mark.parametrize(
    ("selector", "keys"),
    [
        (None, ["a/x", "a/y", "b/x", "c"]),
        (everything(), ["a/x", "a/y", "b/x", "c"]),
        (parse_selector(""), ["a/x", "a/y", "b/x", "c"]),
        (parse_selector("app=web"), ["a/x", "b/x", "c"]),
        (parse_selector("app!=web"), ["a/y"]),
        (parse_selector("!app"), []),
        (parse_selector("app=web,app=db"), []),
        (nothing(), []),
    ],
)
def test_list_all(selector: Any, keys: list[str]) -> None:
    assert _keys(list_all(_indexed(), selector)) == keys


_CASES: list[tuple[str, Any, list[str]]] = [
    ("a", None, ["a/x", "a/y"]),
    ("a", everything(), ["a/x", "a/y"]),
    ("a", parse_selector("app=web"), ["a/x"]),
    ("", parse_selector("app=web"), ["a/x", "b/x", "c"]),
    ("", None, ["a/x", "a/y", "b/x", "c"]),
    ("zz", None, []),
    ("a", nothing(), []),
    ("", nothing(), []),
]


@pytest.mark.parametrize(("namespace", "selector", "keys"), _CASES)
def test_list_all_by_namespace(
    namespace: str, selector: Any, keys: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        assert _keys(list_all_by_namespace(_indexed(), namespace, selector)) == keys
    assert caplog.records == []


@pytest.mark.parametrize(("namespace", "selector", "keys"), _CASES)
def test_the_same_by_a_scan_with_a_warning(
    namespace: str, selector: Any, keys: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    assert _keys(list_all_by_namespace(_unindexed(), namespace, selector)) == keys
    warned = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    scans = bool(namespace) and selector != nothing()
    message = f"no index called 'namespace': listing namespace {namespace!r} by a scan of the whole store"
    assert warned == [message] * scans


def test_an_index_that_fails_for_the_probe_means_a_scan(caplog: pytest.LogCaptureFixture) -> None:
    def by_node(obj: Any) -> list[str]:
        return [obj["spec"]]  # The probe of the lister has no spec.

    pod = {**_pod("x", "a"), "spec": "n1"}
    store: Cache[Any] = new_indexer(meta_namespace_key_func, {NAMESPACE_INDEX: by_node})
    store.add(pod)
    assert list_all_by_namespace(store, "a") == [pod]
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "index 'namespace' failed for namespace 'a'" in record.getMessage()
    assert "by a scan" in record.getMessage()


def test_an_index_called_namespace_is_believed() -> None:
    stray = _pod("x", "elsewhere")
    store: Cache[Any] = new_indexer(meta_namespace_key_func, {NAMESPACE_INDEX: lambda obj: ["a"]})
    store.add(stray)
    assert list_all_by_namespace(store, "a") == [stray]
    assert list_all_by_namespace(store, "b") == [stray]


def test_objects_without_metadata() -> None:
    for store in (
        new_indexer(lambda obj: "k", {NAMESPACE_INDEX: lambda obj: ["a"]}),
        new_indexer(lambda obj: "k", {}),
    ):
        store.add("no metadata")
        assert list_all(store) == ["no metadata"]
        assert list_all(store, everything()) == ["no metadata"]
        assert list_all(store, nothing()) == []
        assert list_all_by_namespace(store, "") == ["no metadata"]
        assert list_all_by_namespace(store, "a", nothing()) == []
        for selector in (parse_selector("a"), parse_selector("!a")):
            for namespace in ("", "a"):
                with pytest.raises(NoMetadataError, match=f"^{_NO_META}$"):
                    list_all_by_namespace(store, namespace, selector)
            with pytest.raises(NoMetadataError, match=f"^{_NO_META}$"):
                list_all(store, selector)
        if store.get_indexers():
            assert list_all_by_namespace(store, "a") == ["no metadata"]
        else:
            # A scan reads the namespace of each object.
            with pytest.raises(NoMetadataError):
                list_all_by_namespace(store, "a")


def test_results_are_new_lists_of_the_stored_objects() -> None:
    store = _indexed()
    for result in (list_all(store), list_all_by_namespace(store, "a"), list_all_by_namespace(store, "")):
        assert all(any(obj is pod for pod in _PODS) for obj in result)
        result.clear()
    assert len(list_all(store)) == 4
    assert len(list_all_by_namespace(store, "a")) == 2


def test_objects_with_attributes() -> None:
    pod = SimpleNamespace(metadata=SimpleNamespace(name="x", namespace="a", labels={"app": "web"}))
    bare = SimpleNamespace(name="y", namespace="a", labels=None)
    for store in (_indexed(pod, bare), _unindexed(pod, bare)):
        assert list_all_by_namespace(store, "a", parse_selector("app")) == [pod]
        assert list_all_by_namespace(store, "a", parse_selector("!app")) == [bare]


_some_pods = st.lists(
    st.builds(
        lambda name, namespace, labels: _pod(name, namespace, **labels),
        st.sampled_from("xyz"),
        st.sampled_from(("", "a", "b")),
        st.dictionaries(st.sampled_from(("app", "tier")), st.sampled_from(("", "1", "web"))),
    ),
    min_size=1,
    max_size=8,
)


@given(
    _some_pods,
    st.sampled_from(("", "a", "b", "zz")),
    st.sampled_from(("", "app", "!app", "app=web", "app!=web,tier", "tier in (1,)", "tier>0", "app notin (web)")),
)
def test_index_and_scan_agree_with_a_filter(pods: list[Any], namespace: str, text: str) -> None:
    selector = parse_selector(text)
    stored = {meta_namespace_key_func(pod): pod for pod in pods}
    expected = [
        key
        for key, pod in stored.items()
        if (not namespace or pod["metadata"]["namespace"] == namespace) and selector.matches(pod["metadata"]["labels"])
    ]
    for store in (_indexed(*pods), _unindexed(*pods)):
        assert _keys(list_all_by_namespace(store, namespace, selector)) == sorted(expected)
        if not namespace:
            assert _keys(list_all(store, selector)) == sorted(expected)
