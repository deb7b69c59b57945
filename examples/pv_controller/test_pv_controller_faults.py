import dataclasses
import random
import threading
from contextlib import ExitStack

import pytest

from kcache.informers import ApiError, ResourceEventHandlerFuncs, StopSignal

from . import ClaimRef
from .cluster import SECONDS, comes_to, eventually, named
from .fake_api import claim_of, volume_of
from .samples import ROX, RWO, make_volume
from .volumes import ClaimPhase, VolumePhase


@pytest.mark.parametrize("is_made_anew", [False, True])
def test_a_claim_that_was_deleted_while_the_watch_was_down_releases_its_volume(cluster, is_made_anew):
    cluster.api.create(make_volume("v"), named("a"))
    deleted = []
    cluster.claims.add_event_handler(ResourceEventHandlerFuncs(delete_func=deleted.append))
    cluster.factory.start()
    with cluster.controller():
        comes_to({"shop/a": "v"}, cluster.bindings)
        with cluster.down(cluster.api.claims):
            cluster.api.delete(named("a"))
            if is_made_anew:
                cluster.api.create(named("a"))
        comes_to({"v": VolumePhase.RELEASED}, cluster.phases)
        if not is_made_anew:
            comes_to(["DeletedFinalStateUnknown"], lambda: [type(obj).__name__ for obj in deleted])
            assert cluster.claims.get_store().list() == []


def test_a_restart_changes_nothing_and_goes_on(cluster):
    cluster.api.create(make_volume("v"), make_volume("w", "50Gi"), named("a"), named("b", "20Gi"))
    cluster.factory.start()
    with cluster.controller():
        comes_to({"shop/a": "v", "shop/b": "w"}, cluster.bindings)
    writes = len(cluster.api.writes)
    cluster.api.delete(named("a"))  # nobody is there to see it
    cluster.api.create(make_volume("x"), named("c"))
    with cluster.controller():
        comes_to({"shop/b": "w", "shop/c": "x"}, cluster.bindings)
        comes_to(VolumePhase.RELEASED, lambda: cluster.phases()["v"])
    assert len(cluster.api.writes) == writes + 3


def test_what_was_left_unfinished_is_finished(cluster):
    """The volume was written, and then the controller died."""
    cluster.api.create(named("a"), named("b"))
    uid = cluster.api.get_claim("shop/a").metadata.uid
    promised = {"claim_ref": ClaimRef("a", "shop", uid), "phase": VolumePhase.BOUND}
    cluster.api.create(make_volume("large", "50Gi", **promised), make_volume("small"))
    cluster.api.create(make_volume("larger", "60Gi", **promised))
    cluster.factory.start()
    with cluster.controller():
        comes_to({"shop/a": "large", "shop/b": "small"}, cluster.bindings)
        comes_to(VolumePhase.AVAILABLE, lambda: cluster.phases()["larger"])
    assert cluster.api.get_volume("larger").claim_ref is None


@pytest.mark.parametrize("taken_by_another", [False, True])
def test_after_a_conflict_the_newer_version_is_waited_for(cluster, taken_by_another):
    cluster.api.create(make_volume("v"), make_volume("w", "50Gi"))
    cluster.factory.start()
    with cluster.controller() as controller, ExitStack() as stack:
        assert eventually(lambda: len(controller.volumes.store.list()) == 2)
        stack.enter_context(cluster.down(cluster.api.volumes))
        if taken_by_another:
            volume = cluster.api.get_volume("v")
            ref = ClaimRef("b", "shop", "u")
            cluster.api.update(dataclasses.replace(volume, claim_ref=ref, phase=VolumePhase.RELEASED))
        else:
            cluster.api.touch(make_volume("v"), tier="gold")
        cluster.api.create(named("a"))
        assert eventually(lambda: controller.volumes._waiting)
        assert cluster.bindings() == {}
        stack.close()
        comes_to({"shop/a": "w" if taken_by_another else "v"}, cluster.bindings)
        assert not controller.volumes._waiting


def test_a_conflict_on_the_claim_leaves_it_the_volume_that_it_was_promised(cluster):
    cluster.api.create(make_volume("v"), make_volume("w"), named("a"))
    cluster.factory.start()
    assert all(cluster.factory.wait_for_cache_sync().values())
    with cluster.down(cluster.api.claims):
        cluster.api.touch(named("a"), tier="gold")
        with cluster.controller():
            comes_to(VolumePhase.BOUND, lambda: cluster.phases()["v"])
    with cluster.controller():
        comes_to({"shop/a": "v"}, cluster.bindings)
    assert cluster.phases()["w"] is VolumePhase.AVAILABLE


def test_it_tries_again_when_the_server_is_not_well(cluster):
    cluster.api.create(make_volume("v"), named("a"))
    cluster.api.refuse_writes(ApiError(500), ApiError(0, "", "connection reset"), ApiError(429))
    cluster.factory.start()
    with cluster.controller():
        comes_to({"shop/a": "v"}, cluster.bindings)


def test_a_claim_that_is_only_late_keeps_its_volume(cluster):
    """The cache of volumes is ahead of that of claims: another controller has bound both."""
    cluster.factory.start()
    with cluster.controller() as controller:
        assert all(cluster.factory.wait_for_cache_sync().values())
        with cluster.down(cluster.api.claims):
            cluster.api.create(named("a", volume_name="v", phase=ClaimPhase.BOUND))
            ref = ClaimRef("a", "shop", cluster.api.get_claim("shop/a").metadata.uid)
            cluster.api.create(make_volume("v", claim_ref=ref, phase=VolumePhase.BOUND))
            assert eventually(lambda: controller.volumes.store.get_by_key("v"))
        assert eventually(lambda: controller.claims.store.get_by_key("shop/a"))
    assert cluster.bindings() == {"shop/a": "v"}
    assert cluster.api.writes == []


@pytest.mark.parametrize("seed", range(6))
def test_no_claim_gets_two_volumes_and_no_volume_two_claims(cluster, seed):
    choice = random.Random(seed)
    api = cluster.api
    sizes = [f"{choice.randrange(1, 9)}Gi" for _ in range(8)]
    api.create(*(make_volume(f"v{n}", size, (RWO, ROX) if n % 3 else (RWO,)) for n, size in enumerate(sizes)))
    cluster.factory.start()
    with cluster.controller(workers=3), cluster.controller(workers=2):  # the second one is as bad as it gets
        for step in range(60):
            claim = named(f"c{choice.randrange(6)}", f"{choice.randrange(1, 7)}Gi")
            exists = api.get_claim(f"shop/{claim.metadata.name}")
            if exists is None:
                api.create(claim)
            elif choice.random() < 0.3:
                api.delete(claim)
            else:
                api.touch(claim, step=str(step))
            if choice.random() < 0.2:
                cluster.cut()
            if choice.random() < 0.2:
                api.refuse_writes(ApiError(500, "InternalError", "the server is not well"))
            if choice.random() < 0.1:
                server = choice.choice([api.volumes, api.claims])
                server.compact()
                server.end_watches_with_error(410, "Expired", "too old resource version")
            free = f"x{step}"
            if choice.random() < 0.2:
                api.create(make_volume(free, "9Gi"))
        for name in range(6):  # enough for all in the end
            api.create(make_volume(f"last{name}", "9Gi"))
        keys = set(api.claims.snapshot())
        comes_to(keys, lambda: set(cluster.bindings()))
    bindings = cluster.bindings()
    assert len(set(bindings.values())) == len(bindings)
    assert_nobody_was_robbed(api)


def assert_nobody_was_robbed(api):
    """In all that ever happened, a claim kept its volume, and a volume changed hands only after it was given back."""
    had = {}
    for event in api.claims.history():
        claim = claim_of(event.object)
        assert had.setdefault(claim.metadata.uid, claim.volume_name) in ("", claim.volume_name)
        had[claim.metadata.uid] = claim.volume_name
    given = [name for name in had.values() if name]
    assert len(given) == len(set(given))
    owner = {}
    for event in api.volumes.history():
        volume = volume_of(event.object)
        uid = volume.claim_ref.uid if volume.claim_ref else ""
        assert not uid or owner.get(volume.metadata.name, "") in ("", uid)
        owner[volume.metadata.name] = uid


def test_it_can_be_stopped_before_the_caches_have_synced(cluster):
    cluster.api.volumes.refuse_lists(1000, ApiError(500))
    cluster.factory.start()
    with cluster.controller() as controller:
        assert cluster.api.volumes.wait_for_requests(2)
    assert controller.volumes.store.list() == []


def test_it_can_be_run_in_a_thread_of_the_caller(cluster):
    cluster.api.create(make_volume("v"), named("a"))
    cluster.factory.start()
    stop, controller = StopSignal(), cluster.controller()
    thread = threading.Thread(target=controller.run, args=(stop,))
    thread.start()
    comes_to({"shop/a": "v"}, cluster.bindings)
    stop.set()
    thread.join(SECONDS)
    assert not thread.is_alive()
    cluster.api.create(make_volume("w", phase=VolumePhase.PENDING))
    assert eventually(lambda: cluster.volumes.get_store().get_by_key("w"))
    assert cluster.phases()["w"] is VolumePhase.PENDING
