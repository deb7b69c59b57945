"""Objects of a cache that are changed in place are found, with the fields; others never are."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import enum
import functools
import gc
import threading
import weakref

import pytest

from kcache import meta_namespace_key_func
from kcache.errors import ObjectMutatedError
from kcache.informers import FakeClock, MutationDetector, ResourceEventHandlerFuncs, StopSignal
from kcache.informers.mutation_detector import ENVIRONMENT_VARIABLE
from kcache.informers.object_diff import differences
from stateful_tests.material.informer_support import WATCHDOG_SECONDS, eventually, in_thread, manifest

# What differs.


class Plain:
    def __init__(self, **fields):
        vars(self).update(fields)


class Slotted:
    __slots__ = ("__hidden", "shown", "unset")

    def __init__(self, hidden, shown):
        self.__hidden = hidden
        self.shown = shown


class SlottedChild(Slotted):
    __slots__ = "own"

    def __init__(self, hidden, shown, own):
        super().__init__(hidden, shown)
        self.own = own


@dataclasses.dataclass(slots=True)
class Record:
    name: str
    parts: list[int]


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"spec": {"nodeName": "a"}}, {"spec": {"nodeName": "b"}}, ("spec.nodeName: 'a' -> 'b'",)),
        ({"a": 1}, {}, ("a: 1 -> (absent)",)),
        ({}, {"a": None}, ("a: (absent) -> None",)),
        ({"a": [1, 2]}, {"a": [1, 3, 4]}, ("a[1]: 2 -> 3", "a[2]: (absent) -> 4")),
        ([{"x": 1}], [{"x": 2}], ("[0].x: 1 -> 2",)),
        ({1: "a"}, {1: "b"}, ("1: 'a' -> 'b'",)),
        (Plain(_phase="a"), Plain(_phase="b"), ("phase: 'a' -> 'b'",)),
        (Plain(spec=Plain(tags={1})), Plain(spec=Plain(tags={1, 2})), ("spec.tags: {1} -> {1, 2}",)),
        (Plain(), Plain(new=1), ("new: (absent) -> 1",)),
        (Slotted("a", 1), Slotted("b", 1), ("Slotted__hidden: 'a' -> 'b'",)),
        (SlottedChild("a", 1, 2), SlottedChild("a", 9, 3), ("own: 2 -> 3", "shown: 1 -> 9")),
        (Record("a", [1]), Record("a", [2]), ("parts[0]: 1 -> 2",)),
        (Color.RED, Color.BLUE, ("the object: <Color.RED: 1> -> <Color.BLUE: 2>",)),
        (1, True, ("the object: 1 -> True",)),
        (b"a", b"b", ("the object: b'a' -> b'b'",)),
        (
            {"at": datetime.datetime(2024, 1, 1)},
            {"at": datetime.datetime(2024, 1, 2)},
            ("at: datetime.datetime(2024, 1, 1, 0, 0) -> datetime.datetime(2024, 1, 2, 0, 0)",),
        ),
        ({"a": "x" * 200}, {"a": "y"}, ("a: '" + "x" * 79 + "... -> 'y'",)),
    ],
)
def test_each_field_that_differs_is_named(before, after, expected):
    assert differences(before, after) == expected
    assert differences(before, copy.deepcopy(before)) == ()


def test_at_most_twenty_are_named():
    found = differences(dict.fromkeys(range(30), 0), dict.fromkeys(range(30), 1))
    assert len(found) == 21
    assert found[-1] == "and more"


def test_objects_may_contain_themselves():
    one, other = {"a": 1}, {"a": 2}
    one["self"], other["self"] = one, other
    assert differences(one, other) == ("a: 1 -> 2",)
    assert differences(one, copy.deepcopy(one)) == ()
    plain = Plain(value=[1])
    plain.me = plain
    assert differences(plain, copy.deepcopy(plain)) == ()


def test_all_fields_are_named_even_if_they_change_alike():
    assert differences({"a": 0, "b": 0}, {"a": 1, "b": 1}) == ("a: 0 -> 1", "b: 0 -> 1")


def test_what_reading_leaves_behind_is_no_change():
    class Lazy:
        @functools.cached_property
        def length(self):
            return 3

    lazy = Lazy()
    lazy.shown = 1
    before = copy.deepcopy(lazy)
    assert lazy.length == 3
    assert differences(before, lazy) == ()


@pytest.mark.parametrize("value", [object(), Plain(), float("nan"), Color.RED, len, {"a"}, (1, [2])])
def test_a_copy_does_not_differ(value):
    assert differences({"value": value}, copy.deepcopy({"value": value})) == ()


def test_models_of_the_official_client_are_compared():
    client = pytest.importorskip("kubernetes.client")
    pod = client.V1Pod(
        metadata=client.V1ObjectMeta(name="a", labels={"app": "web"}), spec=client.V1PodSpec(containers=[])
    )
    before = copy.deepcopy(pod)
    assert differences(before, pod) == ()
    pod.metadata.labels["app"] = "db"
    pod.spec.node_name = "n1"
    assert differences(before, pod) == ("metadata.labels.app: 'web' -> 'db'", "spec.node_name: None -> 'n1'")


# The detector.


def new_detector(clock=None, **options):
    return MutationDetector("pods", meta_namespace_key_func, clock=clock or FakeClock(), **options)


def test_an_object_that_was_changed_in_place_is_reported():
    detector = new_detector()
    good, bad = manifest("a/good", "u1", 1), manifest("a/bad", "u2", 2, phase="Pending")
    detector.add_object(good)
    detector.add_object(bad)
    detector.compare_objects()
    bad["spec"]["phase"] = "Running"
    with pytest.raises(ObjectMutatedError) as raised:
        detector.compare_objects()
    assert raised.value.key == "a/bad"
    assert raised.value.changes == ("spec.phase: 'Pending' -> 'Running'",)
    assert "cache pods" in str(raised.value)
    assert "copy.deepcopy" in str(raised.value)


def test_the_name_is_that_of_the_copy():
    detector = new_detector()
    obj = manifest("a/x", "u1", 1)
    detector.add_object(obj)
    obj["metadata"]["name"] = "y"
    with pytest.raises(ObjectMutatedError) as raised:
        detector.compare_objects()
    assert raised.value.key == "a/x"


class Manifest(dict):
    """An object that can be watched going."""


def test_objects_are_let_go_after_a_while():
    clock = FakeClock()
    detector = new_detector(clock, kept_seconds=10.0)
    obj = Manifest(manifest("a/x", "u1", 1))
    gone = weakref.ref(obj)
    detector.add_object(obj)
    del obj
    clock.step(10.0)
    detector.compare_objects()
    gc.collect()
    assert gone() is not None
    clock.step(0.1)
    detector.compare_objects()
    gc.collect()
    assert gone() is None


def test_objects_are_compared_once_more_before_they_are_let_go():
    clock = FakeClock()
    detector = new_detector(clock, kept_seconds=10.0)
    obj = manifest("a/x", "u1", 1)
    detector.add_object(obj)
    obj["spec"]["x"] = 1
    clock.step(100.0)
    with pytest.raises(ObjectMutatedError):
        detector.compare_objects()


def test_it_compares_every_second_and_lets_go_at_the_end(no_thread_left):
    clock = FakeClock()
    detector = new_detector(clock)
    obj = Manifest(manifest("a/x", "u1", 1))
    gone = weakref.ref(obj)
    detector.add_object(obj)
    stop = StopSignal()
    running = in_thread(detector.run, stop)
    for _ in range(3):
        assert clock.wait_for_waiters(1)
        assert clock.waiting() == (1.0,)
        clock.step(1.0)
    stop.set()
    running.result(WATCHDOG_SECONDS)
    del obj
    gc.collect()
    assert gone() is None


# In an informer.


def test_a_handler_that_changes_an_object_ends_the_informer(server, new_informer, clock, new_queue):
    informer = new_informer(new_queue=new_queue, mutation_detector=new_detector(clock))
    changed = threading.Event()

    def change(obj):
        obj["spec"]["phase"] = "changed"
        changed.set()

    informer.set_transform(copy.deepcopy)  # the server keeps its objects as they are
    informer.add_event_handler(ResourceEventHandlerFuncs(add_func=change))
    server.create("a")
    running = in_thread(informer.run, StopSignal())
    assert changed.wait(WATCHDOG_SECONDS)
    assert clock.wait_for_waiters(1)
    clock.step(1.0)
    error = running.exception(WATCHDOG_SECONDS)
    assert isinstance(error, ObjectMutatedError)
    assert (error.key, error.changes) == ("default/a", ("spec.phase: (absent) -> 'changed'",))
    with pytest.raises(ObjectMutatedError):
        informer.stop(WATCHDOG_SECONDS)


@pytest.mark.parametrize("kind", ["add", "update"])
def test_the_end_of_the_informer_is_not_too_early_to_find_it(server, new_informer, clock, kind):
    informer = new_informer(mutation_detector=new_detector(clock))
    changed = threading.Event()

    def change(*objects):
        objects[-1]["spec"]["phase"] = "changed"
        changed.set()

    informer.set_transform(copy.deepcopy)
    informer.add_event_handler(ResourceEventHandlerFuncs(**{f"{kind}_func": change}))
    server.create("a")
    informer.start()
    assert eventually(informer.has_synced)
    server.update("a")
    assert changed.wait(WATCHDOG_SECONDS)
    with pytest.raises(ObjectMutatedError):
        informer.stop(WATCHDOG_SECONDS)


@pytest.mark.parametrize(("value", "is_wanted"), [("true", True), ("True", True), ("false", False), (None, False)])
def test_the_environment_gives_each_informer_one(server, new_informer, clock, monkeypatch, value, is_wanted):
    if value is None:
        monkeypatch.delenv(ENVIRONMENT_VARIABLE, raising=False)
    else:
        monkeypatch.setenv(ENVIRONMENT_VARIABLE, value)
    server.create("a")
    informer = new_informer()
    with informer:
        assert eventually(informer.has_synced)
        if is_wanted:
            assert clock.wait_for_waiters(1)
        assert clock.waiting() == ((1.0,) if is_wanted else ())


def test_nobody_who_behaves_is_accused(server, new_informer, clock, new_queue):
    informer = new_informer(new_queue=new_queue, mutation_detector=new_detector(clock), resync_seconds=1.0)
    seen = threading.Event()
    informer.add_event_handler(ResourceEventHandlerFuncs(update_func=lambda old, new: seen.set()))
    server.create("a")
    with informer:
        assert eventually(informer.has_synced)
        assert clock.wait_for_waiters(2)  # the resync and the detector
        clock.step(1.0)
        assert seen.wait(WATCHDOG_SECONDS)
        assert clock.wait_for_waiters(2)
        clock.step(1.0)
        assert clock.wait_for_waiters(2)
        server.update("a")
        server.delete("a")
        assert eventually(lambda: not informer.get_store().list())
