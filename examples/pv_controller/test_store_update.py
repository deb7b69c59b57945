import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kcache

from . import PersistentVolume, PersistentVolumeOrderedIndex, store_object_update
from .samples import make_claim, make_volume


class DictStore:
    """As little of a Store as there can be: no default, no index."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}

    def add(self, obj: Any) -> None:
        assert kcache.meta_namespace_key_func(obj) not in self.objects, "only a new object is added"
        self.objects[kcache.meta_namespace_key_func(obj)] = obj

    def update(self, obj: Any) -> None:
        assert kcache.meta_namespace_key_func(obj) in self.objects, "only a known object is updated"
        self.objects[kcache.meta_namespace_key_func(obj)] = obj

    def get(self, obj: Any) -> Any:
        return self.objects.get(kcache.meta_namespace_key_func(obj))


STORES: Sequence[Callable[[], Any]] = (
    lambda: kcache.new_store(kcache.meta_namespace_key_func),
    lambda: PersistentVolumeOrderedIndex().store,
    DictStore,
)


@pytest.fixture(params=STORES, ids=["store", "indexer", "dict"])
def store(request: pytest.FixtureRequest) -> Any:
    return request.param()


def test_a_new_object_is_added(store: Any, caplog: pytest.LogCaptureFixture) -> None:
    volume = make_volume(version="7")
    with caplog.at_level(logging.DEBUG):
        assert store_object_update(store, volume, "volume") is True
    assert store.get(volume) is volume
    assert caplog.messages == ['adding volume "v", version 7']


def test_a_newer_object_replaces_an_older_one(store: Any, caplog: pytest.LogCaptureFixture) -> None:
    store_object_update(store, make_volume(version="9"), "volume")
    volume = make_volume(version="10")
    with caplog.at_level(logging.DEBUG):
        assert store_object_update(store, volume, "volume") is True
    assert store.get(volume) is volume
    assert caplog.messages == ['updating volume "v" from version 9 to 10']


def test_an_older_object_is_ignored(store: Any, caplog: pytest.LogCaptureFixture) -> None:
    newer = make_volume(version="1" + "0" * 5000)
    store_object_update(store, newer, "volume")
    with caplog.at_level(logging.DEBUG):
        assert store_object_update(store, make_volume(version="9" * 5000), "volume") is False
    assert store.get(newer) is newer
    assert caplog.messages[0].startswith('ignoring volume "v", version 999')


def test_the_same_version_is_stored_again(store: Any) -> None:
    store_object_update(store, make_volume(version="9"), "volume")
    again = make_volume(version="9")
    assert store_object_update(store, again, "volume") is True
    assert store.get(again) is again


def test_nothing_is_logged_above_debug(store: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        store_object_update(store, make_volume(), "volume")
    assert caplog.messages == []


@pytest.mark.parametrize("version", ["", "x", "01", "-1", "1.5", "٣", " 1"])
def test_a_bad_version_is_refused_and_changes_nothing(store: Any, version: str) -> None:
    bad = make_volume(version=version)
    with pytest.raises(kcache.ResourceVersionError, match=r'^volume "v": resource version ".*" is not a decimal'):
        store_object_update(store, bad, "volume")
    assert store.get(bad) is None
    good = make_volume(version="1")
    store_object_update(store, good, "volume")
    with pytest.raises(kcache.ResourceVersionError):
        store_object_update(store, bad, "volume")
    assert store.get(bad) is good


def test_a_bad_version_in_the_store_is_blamed_on_the_store(store: Any) -> None:
    store.add(make_volume(version="x"))
    with pytest.raises(kcache.ResourceVersionError, match=r'^the stored volume "v": resource version "x"'):
        store_object_update(store, make_volume(), "volume")


def test_a_namespaced_object_is_called_by_its_full_name() -> None:
    claim = make_claim()
    with pytest.raises(kcache.ResourceVersionError, match=r'^claim "shop/data": '):
        store_object_update(kcache.new_store(kcache.meta_namespace_key_func), claim, "claim")


def test_an_object_without_metadata_is_refused(store: Any) -> None:
    with pytest.raises(kcache.NoMetadataError):
        store_object_update(store, object(), "volume")


def test_manifests_are_objects_too() -> None:
    store = kcache.new_store(kcache.meta_namespace_key_func)
    manifests = [{"metadata": {"name": "v", "resourceVersion": version}} for version in ("5", "4", "6")]
    assert [store_object_update(store, manifest, "volume") for manifest in manifests] == [True, False, True]


updates = st.tuples(st.sampled_from("ab"), st.integers(0, 30) | st.integers(10**30, 10**30 + 3))


@given(st.lists(updates, max_size=40), st.sampled_from(STORES))
def test_the_store_never_goes_back_in_time(sequence: list[tuple[str, int]], new_store: Callable[[], Any]) -> None:
    store = new_store()
    newest: dict[str, int] = {}
    last: dict[str, PersistentVolume] = {}
    for name, version in sequence:
        volume = make_volume(name, version=str(version))
        expected = version >= newest.get(name, 0)
        assert store_object_update(store, volume, "volume") is expected
        newest[name] = max(version, newest.get(name, 0))
        if expected:
            last[name] = volume
        for known, stored in last.items():
            assert store.get(make_volume(known)) is stored
            assert stored.metadata.resource_version == str(newest[known])


class MeddledStore(DictStore):
    """While somebody looks at an object, somebody else has time to store another one."""

    def __init__(self) -> None:
        super().__init__()
        self.looked_at = threading.Event()
        self.meddled = threading.Event()

    def get(self, obj: Any) -> Any:
        found = super().get(obj)
        if not self.looked_at.is_set():
            self.looked_at.set()
            self.meddled.wait(0.2)
        return found


def test_an_update_in_another_thread_does_not_come_between_the_look_and_the_write() -> None:
    store = MeddledStore()
    store.add(make_volume(version="1"))

    def meddle() -> None:
        store.looked_at.wait(5)
        store_object_update(store, make_volume(version="9"), "volume")  # type: ignore[arg-type]
        store.meddled.set()

    thread = threading.Thread(target=meddle)
    thread.start()
    store_object_update(store, make_volume(version="5"), "volume")  # type: ignore[arg-type]
    thread.join(5)
    assert store.meddled.is_set()
    assert store.get(make_volume()).metadata.resource_version == "9"
