import dataclasses
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kcache

from . import (
    ACCESS_MODES_INDEX,
    AccessMode,
    ClaimRef,
    Metadata,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeOrderedIndex,
    VolumeMode,
    VolumePhase,
    access_modes_as_string,
    access_modes_from_string,
    find_matching_volume,
    parse_quantity,
)
from .samples import ROX, RWO, RWOP, RWX, make_claim, make_volume


def filled(*volumes: PersistentVolume) -> PersistentVolumeOrderedIndex:
    index = PersistentVolumeOrderedIndex()
    for volume in volumes:
        index.store.add(volume)
    return index


def best(claim: PersistentVolumeClaim, *volumes: PersistentVolume, delay_binding: bool = False) -> str | None:
    found = filled(*volumes).find_best_match_for_claim(claim, delay_binding=delay_binding)
    return None if found is None else found.metadata.name


@given(st.lists(st.sampled_from(AccessMode)))
def test_equal_sets_of_modes_have_one_text(modes: list[AccessMode]) -> None:
    text = access_modes_as_string(modes)
    assert text == access_modes_as_string([*reversed(modes), *modes])
    assert access_modes_from_string(text) == set(modes)


def test_the_text_of_modes_is_upstreams() -> None:
    assert access_modes_as_string(reversed(AccessMode)) == "RWO,ROX,RWX,RWOP"


def test_volumes_with_exactly_the_modes_are_listed_smallest_first() -> None:
    a, b, c = make_volume("a", "10Gi"), make_volume("b", "9999M"), make_volume("c", "1Gi", modes=[RWO, ROX])
    d = make_volume("d", "10240Mi")
    index = filled(d, a, b, c)
    assert index.list_by_access_modes([RWO]) == [b, a, d]
    assert index.list_by_access_modes([ROX, RWO]) == [c]
    assert index.list_by_access_modes([ROX]) == []


def test_matching_modes_contain_the_requested_ones_and_the_fewest_come_first() -> None:
    index = filled(
        make_volume("a", modes=[RWO, ROX, RWX]),
        make_volume("d", modes=[RWO, RWX]),
        make_volume("b", modes=[RWO, ROX]),
        make_volume("c", modes=[ROX]),
    )
    matching = index.all_possible_matching_access_modes
    assert matching([RWO]) == [{RWO, ROX}, {RWO, RWX}, {RWO, ROX, RWX}]
    assert matching([RWX, ROX]) == [{RWO, ROX, RWX}]
    assert matching([RWOP]) == []
    index.store.delete(make_volume("b"))
    assert matching([RWO, ROX]) == [{RWO, ROX, RWX}], "no volume has these modes any more"


def test_only_volumes_can_be_stored() -> None:
    index = PersistentVolumeOrderedIndex()
    with pytest.raises(kcache.IndexFuncError, match="object is not a persistent volume"):
        index.store.add(make_claim())  # type: ignore[arg-type]
    assert index.store.list() == []


def test_it_gives_another_store_its_index_and_keeps_the_others() -> None:
    store: kcache.Indexer[PersistentVolume] = kcache.new_indexer(
        kcache.meta_namespace_key_func, {"class": lambda volume: [volume.storage_class]}
    )
    index = PersistentVolumeOrderedIndex(store)
    again = PersistentVolumeOrderedIndex(store)
    volume = make_volume(storage_class="fast")
    index.store.add(volume)
    assert again.list_by_access_modes([RWO]) == store.by_index("class", "fast") == [volume]
    assert store.by_index(ACCESS_MODES_INDEX, "RWO") == [volume]


def test_the_smallest_volume_that_is_large_enough_is_best() -> None:
    volumes = make_volume("a", "4Gi"), make_volume("b", "50Gi"), make_volume("c", "6Gi"), make_volume("d", "7Gi")
    assert best(make_claim("5Gi"), *volumes) == "c"
    assert best(make_claim("6Gi"), *volumes) == "c"
    assert best(make_claim("51Gi"), *volumes) is None


def test_fewer_modes_come_before_a_better_size() -> None:
    volumes = make_volume("wide", "5Gi", [RWO, ROX]), make_volume("narrow", "50Gi", [RWO])
    assert best(make_claim(), *volumes) == "narrow"
    assert best(make_claim(modes=[ROX]), *volumes) == "wide"


OWN = ClaimRef("data", "shop", "u1")


def test_a_volume_of_the_claim_wins_over_a_smaller_one() -> None:
    assert best(make_claim(), make_volume("a", "5Gi"), make_volume("b", "50Gi", claim_ref=OWN)) == "b"


def test_a_volume_of_the_claim_needs_no_class_labels_or_phase() -> None:
    volume = make_volume(claim_ref=OWN, storage_class="slow", phase=VolumePhase.BOUND)
    claim = make_claim(storage_class="fast", selector=kcache.parse_selector("tier=gold"))
    assert best(claim, volume) == "v"
    assert best(claim, dataclasses.replace(volume, claim_ref=None)) is None


def test_a_volume_of_the_claim_that_is_too_small_is_passed_over() -> None:
    assert best(make_claim(), make_volume("a", "1Gi", claim_ref=OWN), make_volume("b", "9Gi")) == "b"


def test_as_upstream_a_free_volume_with_fewer_modes_comes_before_the_claims_own() -> None:
    assert best(make_claim(), make_volume("own", modes=[RWO, ROX], claim_ref=OWN), make_volume("free")) == "free"


@pytest.mark.parametrize(
    ("ref", "suits"),
    [
        (ClaimRef("data", "shop"), True),
        (ClaimRef("data", "shop", "u1"), True),
        (ClaimRef("data", "shop", "u2"), False),
        (ClaimRef("data", "other"), False),
        (ClaimRef("other", "shop"), False),
    ],
)
def test_a_volume_of_another_claim_is_skipped(ref: ClaimRef, suits: bool) -> None:
    assert (best(make_claim(), make_volume(claim_ref=ref)) == "v") is suits


@pytest.mark.parametrize(
    "fields",
    [
        {"storage_class": "slow"},
        {"volume_mode": VolumeMode.BLOCK},
        {"phase": VolumePhase.RELEASED},
        {"metadata": Metadata("v", labels={"tier": "gold"}, deletion_timestamp=datetime(2024, 1, 1, tzinfo=UTC))},
        {"metadata": Metadata("v", labels={"tier": "iron"})},
    ],
)
def test_one_thing_that_does_not_suit_is_enough(fields: dict[str, Any]) -> None:
    suitable = dataclasses.replace(make_volume(), metadata=Metadata("v", labels={"tier": "gold"}))
    claim = make_claim(selector=kcache.parse_selector("tier=gold"))
    assert best(claim, suitable) == "v"
    assert best(claim, dataclasses.replace(suitable, **fields)) is None


def test_delayed_binding_leaves_free_volumes_alone() -> None:
    assert best(make_claim(), make_volume(), delay_binding=True) is None
    assert best(make_claim(), make_volume(claim_ref=OWN), delay_binding=True) == "v"


def test_without_a_claims_modes_any_volume_matches() -> None:
    assert best(make_claim(modes=[]), make_volume(modes=[RWX])) == "v"
    assert find_matching_volume(make_claim(), []) is None


mode_sets = st.frozensets(st.sampled_from([RWO, ROX, RWX]), min_size=1)
sizes = st.integers(1, 4).map(lambda gigabytes: parse_quantity(f"{gigabytes}Gi"))
metadata = st.builds(
    Metadata,
    name=st.sampled_from("abcdefghijkl"),
    labels=st.sampled_from([{}, {"tier": "gold"}, {"tier": "iron"}]),
    deletion_timestamp=st.sampled_from([None] * 7 + [datetime(2024, 1, 1, tzinfo=UTC)]),
)
volumes = st.builds(
    PersistentVolume,
    metadata,
    sizes,
    mode_sets,
    storage_class=st.sampled_from(["", "", "", "fast"]),
    volume_mode=st.sampled_from([*VolumeMode, VolumeMode.FILESYSTEM, VolumeMode.FILESYSTEM]),
    claim_ref=st.sampled_from([None, None, None, OWN, ClaimRef("data", "shop"), ClaimRef("other", "shop")]),
    phase=st.sampled_from([*VolumePhase] + [VolumePhase.AVAILABLE] * 6),
)
claims = st.builds(
    PersistentVolumeClaim,
    st.just(Metadata("data", "shop", uid="u1")),
    sizes,
    st.frozensets(st.sampled_from([RWO, ROX])),
    storage_class=st.sampled_from(["", "", "", "fast"]),
    volume_mode=st.sampled_from([VolumeMode.FILESYSTEM] * 3 + [VolumeMode.BLOCK]),
    selector=st.sampled_from([None, None, kcache.parse_selector("tier=gold"), kcache.parse_selector("tier!=iron")]),
)


def scan(
    claim: PersistentVolumeClaim, stored: Iterable[PersistentVolume], delay_binding: bool
) -> PersistentVolume | None:
    """The specification: look at every volume, without any index."""
    suitable = []
    for volume in stored:
        own = volume.claim_ref in (OWN, ClaimRef("data", "shop"))
        free = (
            not delay_binding
            and volume.claim_ref is None
            and volume.phase is VolumePhase.AVAILABLE
            and volume.storage_class == claim.storage_class
            and (claim.selector is None or claim.selector.matches(volume.metadata.labels))
        )
        if (
            (own or free)
            and claim.access_modes <= volume.access_modes
            and claim.request <= volume.capacity
            and claim.volume_mode is volume.volume_mode
            and volume.metadata.deletion_timestamp is None
        ):
            modes = access_modes_as_string(volume.access_modes)
            rank = (len(volume.access_modes), modes, not own, volume.capacity, volume.metadata.name)
            suitable.append((rank, volume))
    return min(suitable, key=lambda found: found[0])[1] if suitable else None


@settings(max_examples=2 * settings.default.max_examples)
@given(st.lists(volumes, min_size=4, max_size=16), claims, st.booleans(), st.randoms(use_true_random=False))
def test_the_best_match_is_that_of_a_full_scan(
    written: list[PersistentVolume], claim: PersistentVolumeClaim, delay_binding: bool, random: Any
) -> None:
    index = PersistentVolumeOrderedIndex()
    for volume in written:
        index.store.add(volume)
        if random.random() < 0.1:
            index.store.delete(volume)
    expected = scan(claim, index.store.list(), delay_binding)
    assert index.find_best_match_for_claim(claim, delay_binding=delay_binding) == expected
