import dataclasses
import logging

import pytest

from kcache.informers import ResourceEventHandlerFuncs

from . import ClaimRef, Metadata
from .cluster import Cluster, comes_to, eventually, named
from .samples import ROX, RWO, RWX, make_volume
from .volumes import ClaimPhase, VolumePhase
from .work_queue import WorkQueue


def test_each_claim_gets_the_best_volume(cluster):
    cluster.api.create(
        make_volume("large", "100Gi"),
        make_volume("small", "5Gi"),
        make_volume("middle", "10Gi"),
        make_volume("shared", "5Gi", (RWO, ROX)),
        make_volume("gold", "5Gi", storage_class="gold"),
    )
    cluster.api.create(named("a", "4Gi"), named("b", "8Gi"), named("g", "1Gi", storage_class="gold"))
    cluster.factory.start()
    with cluster.controller():
        comes_to({"shop/a": "small", "shop/b": "middle", "shop/g": "gold"}, cluster.bindings)
        cluster.api.create(named("c", "1Gi", (ROX,)), named("none", "1Gi", (RWX,)))
        comes_to("shared", lambda: cluster.bindings().get("shop/c"))
        assert "shop/none" not in cluster.bindings()
        cluster.api.create(make_volume("late", "1Gi", (RWX,), phase=VolumePhase.PENDING))
        comes_to("late", lambda: cluster.bindings().get("shop/none"))
    assert cluster.phases()["large"] is VolumePhase.AVAILABLE


def test_a_volume_is_released_when_its_claim_goes(cluster):
    cluster.api.create(make_volume("v"), named("a"))
    cluster.factory.start()
    with cluster.controller():
        comes_to({"shop/a": "v"}, cluster.bindings)
        cluster.api.delete(named("a"))
        comes_to({"v": VolumePhase.RELEASED}, cluster.phases)
        cluster.api.create(named("a"))  # the same name, another claim: what is on the volume is not for it
        cluster.api.create(make_volume("w"))
        comes_to({"shop/a": "w"}, cluster.bindings)
    assert cluster.phases() == {"v": VolumePhase.RELEASED, "w": VolumePhase.BOUND}


def test_a_claim_loses_its_volume_and_gets_it_back(cluster):
    cluster.api.create(make_volume("v"), named("a"))
    cluster.factory.start()
    with cluster.controller():
        comes_to({"shop/a": "v"}, cluster.bindings)
        volume = cluster.api.get_volume("v")
        cluster.api.delete(volume)
        comes_to(ClaimPhase.LOST, lambda: cluster.api.get_claim("shop/a").phase)
        cluster.api.create(volume)
        comes_to({"shop/a": "v"}, cluster.bindings)


def test_a_volume_may_be_kept_for_a_claim_and_a_claim_may_want_one_volume(cluster):
    cluster.api.create(
        make_volume("kept", "50Gi", claim_ref=ClaimRef("a", "shop")),
        make_volume("wanted", "50Gi"),
        make_volume("other"),
    )
    cluster.api.create(named("a"), named("b", volume_name="wanted"), named("c", volume_name="kept"))
    cluster.factory.start()
    with cluster.controller():
        comes_to({"shop/a": "kept", "shop/b": "wanted"}, cluster.bindings)
        comes_to({"kept", "wanted"}, lambda: {n for n, phase in cluster.phases().items() if phase is VolumePhase.BOUND})
    assert cluster.api.get_claim("shop/c").phase is ClaimPhase.PENDING


def test_a_private_cache_is_not_fed_by_older_events(cluster):
    cluster.api.create(make_volume("v"), named("a"))
    cluster.factory.start()
    with cluster.controller() as controller:
        comes_to({"shop/a": "v"}, cluster.bindings)
        comes_to("Bound", lambda: controller.volumes.store.get_by_key("v").phase.value)
        mine = controller.volumes.store.get_by_key("v")
        first = dataclasses.replace(make_volume("v"), metadata=Metadata("v", uid="uid-1", resource_version="2"))
        assert controller.volumes.take(first) is False
        assert controller.volumes.store.get_by_key("v") == mine
        assert controller.volumes.take(mine) is True  # the event of an own write
        writes = len(cluster.api.writes)
        cluster.api.volumes.inject(cluster.api.volumes.history()[0])  # late, and repeated
        cluster.api.touch(mine, seen="yes")
        comes_to({"seen": "yes"}, lambda: controller.volumes.store.get_by_key("v").metadata.labels)
    assert len(cluster.api.writes) == writes
    assert cluster.bindings() == {"shop/a": "v"}


def test_private_caches_share_nothing_with_informers(cluster):
    cluster.api.create(make_volume("v"), make_volume("w"), named("a"))
    cluster.api.touch(make_volume("w"), tier="gold")
    cluster.factory.start()
    with cluster.controller() as controller:
        comes_to({"shop/a": "v"}, cluster.bindings)
    for name in ("v", "w"):
        shared, private = cluster.volumes.get_store().get_by_key(name), controller.volumes.store.get_by_key(name)
        assert shared is not private
        assert shared.metadata is not private.metadata
    controller.volumes.store.get_by_key("w").metadata.labels["tier"] = "lead"
    assert cluster.volumes.get_store().get_by_key("w").metadata.labels == {"tier": "gold"}


def test_the_mutation_detector_would_find_a_change_in_place():
    cluster = Cluster()
    cluster.api.create(make_volume("v"))
    cluster.volumes.add_event_handler(ResourceEventHandlerFuncs(lambda volume: volume.metadata.labels.update(a="b")))
    cluster.factory.start()
    assert eventually(
        lambda: cluster.volumes.get_store().list() and cluster.volumes.get_store().list()[0].metadata.labels
    )
    with pytest.raises(ExceptionGroup) as caught:
        cluster.factory.shutdown()
    assert "metadata.labels.a" in str(caught.value.exceptions[0])


def test_a_key_is_given_to_one_worker_at_a_time():
    queue = WorkQueue()
    for key in ("a", "b", "a"):
        queue.add(key)
    assert queue.get() == "a"
    queue.add("a")
    queue.add("c")
    assert [queue.get(), queue.get()] == ["b", "c"]
    queue.done("b")
    queue.done("a")
    assert queue.get() == "a"
    queue.add("d")
    queue.shut_down()
    assert queue.get() is None
    queue.done("a")
    queue.add("e")
    assert queue.get() is None


def test_what_cannot_be_decided_is_logged(cluster, caplog):
    cluster.api.create(named("a"), make_volume("v"))
    cluster.api.create(dataclasses.replace(named("bad"), request="much"))
    cluster.factory.start()
    with caplog.at_level(logging.ERROR), cluster.controller():
        comes_to({"shop/a": "v"}, cluster.bindings)
        cluster.api.create(make_volume("w"))
        assert eventually(lambda: "shop/bad: giving up" in caplog.text)
