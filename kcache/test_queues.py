"""The reference queues where the models say little: identity, locks, reentrancy, options, deltas, several consumers."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from kcache import DeletedFinalStateUnknown, FIFOClosedError, KeyFuncError, new_store
from kcache.queues import (
    BATCH_SIZE,
    FIFO,
    Delta,
    DeltaFIFO,
    Deltas,
    DeltaType,
    EnqueueError,
    QueueOptionsError,
    RealFIFO,
    ZeroLengthDeltasError,
)

Obj = dict[str, Any]


def key_func(obj: Any) -> str:
    return str(obj["name"])


def named(name: str, **fields: Any) -> Obj:
    return {"name": name, **fields}


def ignore(_item: Any, _is_in_initial_list: bool) -> None:
    pass


def known(*objects: Obj) -> Any:
    store = new_store(lambda obj: obj.key if isinstance(obj, DeletedFinalStateUnknown) else key_func(obj))
    for obj in objects:
        store.add(obj)
    return store


MAKERS = {
    "fifo": lambda: FIFO(key_func),
    "delta": lambda: DeltaFIFO(key_func),
    "real": lambda: RealFIFO(key_func, known_objects=known()),
    "atomic": lambda: RealFIFO(key_func, atomic_events=True),
}


@pytest.fixture(params=MAKERS)
def queue(request: pytest.FixtureRequest) -> Any:
    return MAKERS[request.param]()


def test_the_object_itself_is_handed_out(queue: Any) -> None:
    obj = named("a")
    queue.add(obj)
    popped = queue.pop(ignore)
    assert (popped if isinstance(queue, FIFO) else popped.newest().object) is obj


def test_process_gets_what_pop_returns_and_holds_the_lock(queue: Any) -> None:
    queue.add(named("a"))
    seen: list[Any] = []
    writer = threading.Thread(target=queue.add, args=(named("b"),))

    def process(item: Any, is_in_initial_list: bool) -> None:
        seen.append(item)
        writer.start()
        writer.join(0.05)
        assert writer.is_alive(), "a writer waits while an item is processed"

    assert queue.pop(process) == seen[0]
    writer.join(10)
    assert not writer.is_alive()


def test_process_may_call_the_queue(queue: Any) -> None:
    queue.add(named("a"))
    queue.pop(lambda *_: queue.add(named("b")))
    assert len(queue) == 1


def test_every_consumer_wakes(queue: Any) -> None:
    gave: list[object] = []

    def consume() -> None:
        try:
            queue.pop(lambda item, _: gave.append(item))
        except FIFOClosedError as error:
            gave.append(error)

    consumers = [threading.Thread(target=consume) for _ in range(4)]
    for consumer in consumers:
        consumer.start()
    queue.add(named("a"))
    queue.add(named("b"))
    queue.close()
    for consumer in consumers:
        consumer.join(10)
    assert not any(consumer.is_alive() for consumer in consumers)
    assert len([one for one in gave if isinstance(one, FIFOClosedError)]) == 2


def test_a_closed_queue_says_what_client_go_says(queue: Any) -> None:
    queue.close()
    queue.close()
    with pytest.raises(FIFOClosedError, match=r"^DeltaFIFO: manipulating with closed queue$"):
        queue.pop(ignore)


def test_no_key(queue: Any) -> None:
    for write in (queue.add, queue.update, queue.delete):
        with pytest.raises(KeyFuncError):
            write({})
    assert len(queue) == 0


def test_a_key_func_must_return_text(queue: Any) -> None:
    with pytest.raises(KeyFuncError, match="must return a str, not a int"):
        FIFO(lambda _: 3).add(named("a"))  # type: ignore[arg-type, return-value]


def test_replace_takes_any_iterable_and_keeps_none(queue: Any) -> None:
    objects = [named("a"), named("b")]
    queue.replace(iter(objects))
    queue.replace(objects)
    objects.clear()
    queue.close()
    seen: list[Any] = []
    while True:
        try:
            queue.pop(lambda item, _: seen.append(item))
        except FIFOClosedError:
            break
    assert seen


def test_key_of_deltas_and_tombstones(queue: Any) -> None:
    assert queue.key_of(DeletedFinalStateUnknown("t", None)) == "t"
    older, newer = Delta(DeltaType.ADDED, named("a")), Delta(DeltaType.UPDATED, named("b"))
    assert queue.key_of(Deltas((older, newer))) == "b"
    with pytest.raises(KeyFuncError, match="0 length Deltas object; can't get key") as caught:
        queue.key_of(Deltas())
    assert isinstance(caught.value.cause, ZeroLengthDeltasError)


def test_deltas() -> None:
    older, newer = Delta(DeltaType.ADDED, "a"), Delta(DeltaType.DELETED, "b")
    deltas = Deltas((older, newer))
    assert (deltas.oldest(), deltas.newest()) == (older, newer)
    assert (Deltas().oldest(), Deltas().newest()) == (None, None)


def test_deltas_carry_the_keys_of_what_is_in_them() -> None:
    def renamed(obj: Obj) -> Obj:
        return {**obj, "name": obj["name"].upper()}

    for queue, keys in (
        (RealFIFO(key_func, atomic_events=True), ["a", None, "b"]),
        (RealFIFO(key_func, atomic_events=True, transformer=renamed), ["A", None, "b"]),
        (RealFIFO(key_func, known_objects=known()), ["a", "a", "c", "b"]),
        (DeltaFIFO(key_func, known_objects=known(named("b"))), ["a", "a", "c", "b"]),
    ):
        queue.add(named("a"))
        queue.replace([named("c")])
        queue.delete(DeletedFinalStateUnknown("b", None))
        carried: list[str | None] = []
        while len(queue):
            carried += [delta.key for delta in queue.pop(ignore)]
        assert carried == keys


def test_keys_of_deltas_are_not_compared() -> None:
    obj = named("a")
    assert Delta(DeltaType.ADDED, obj, "a") == Delta(DeltaType.ADDED, obj)
    assert Delta(DeltaType.ADDED, obj, "a") != Delta(DeltaType.UPDATED, obj, "a")
    assert repr(Delta(DeltaType.ADDED, obj, "a")) == repr(Delta(DeltaType.ADDED, obj))


def test_a_transformer_that_fails_on_a_list() -> None:
    def transformer(obj: Obj) -> Obj:
        if "bad" in obj:
            raise ValueError("no")
        return obj

    objects = [named("a"), named("b", bad=True)]
    for queue, queued in (
        (DeltaFIFO(key_func, transformer=transformer), 1),
        (RealFIFO(key_func, known_objects=known(), transformer=transformer), 1),
        (RealFIFO(key_func, atomic_events=True, transformer=transformer), 0),
    ):
        with pytest.raises(EnqueueError, match=r"^couldn't enqueue object: no$"):
            queue.replace(objects)
        assert len(queue) == queued
        with pytest.raises(ValueError, match=r"^no$"):
            queue.update(named("b", bad=True))
        assert len(queue) == queued


def test_without_replaced_a_list_is_transformed_all_the_same() -> None:
    queue = DeltaFIFO(key_func, transformer=lambda obj: {**obj, "seen": True})
    queue.replace([named("a")])
    assert queue.pop(ignore) == (Delta(DeltaType.SYNC, named("a", seen=True)),)


def test_what_a_resync_shows_is_the_stored_object() -> None:
    stored = named("a")
    queue = DeltaFIFO(key_func, known_objects=known(stored), transformer=lambda obj: {**obj, "seen": True})
    queue.resync()
    (delta,) = queue.pop(ignore)
    assert delta.object is stored


def test_a_real_fifo_survives_an_object_without_key() -> None:
    queue = RealFIFO(key_func, known_objects=known())
    with pytest.raises(KeyFuncError):
        queue.add({})
    queue.replace([named("a")])
    queue.resync()
    assert len(queue) == 1


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"known_objects": known(), "atomic_events": True},
        {"known_objects": known(), "unlock_while_processing": True},
        {"known_objects": known(), "emit_delta_type_bookmark": True},
    ],
    ids=lambda options: "-".join(options) or "none",
)
def test_options_that_contradict_each_other(options: dict[str, Any]) -> None:
    with pytest.raises(QueueOptionsError):
        RealFIFO(key_func, **options)


def test_a_batch_has_an_end() -> None:
    queue = RealFIFO(key_func, atomic_events=True)
    for number in range(BATCH_SIZE + 1):
        queue.add(named(f"o{number}"))
    sizes: list[int] = []
    queue.pop_batch(lambda deltas, _: sizes.append(len(deltas)), ignore)
    queue.pop_batch(lambda deltas, _: sizes.append(len(deltas)), lambda deltas, _: sizes.append(-len(deltas)))
    assert sizes == [BATCH_SIZE, -1]


def test_writers_go_on_while_a_short_queue_is_processed_if_asked_for() -> None:
    queue = RealFIFO(key_func, atomic_events=True, unlock_while_processing=True)
    queue.add(named("a"))

    def process(_deltas: Deltas, _is_in_initial_list: bool) -> None:
        writer = threading.Thread(target=queue.add, args=(named("b"),))
        writer.start()
        writer.join(10)
        assert not writer.is_alive()

    queue.pop(process)
    assert len(queue) == 1


def test_synced_means_processed_even_without_the_lock() -> None:
    queue = RealFIFO(key_func, atomic_events=True, unlock_while_processing=True)
    queue.replace([named("a")], "5")
    answers: list[bool] = []
    queue.pop(lambda *_: answers.append(queue.has_synced()))
    assert answers == [False]
    assert queue.has_synced()


def test_what_process_raises_comes_out_and_counts(queue: Any) -> None:
    queue.replace([named("a")])

    def process(_item: Any, is_in_initial_list: bool) -> None:
        assert is_in_initial_list
        raise RuntimeError("no good")

    with pytest.raises(RuntimeError, match=r"^no good$"):
        queue.pop(process)
    assert queue.has_synced()
    assert len(queue) == 0
