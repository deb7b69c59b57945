"""Everything that is made is legal, and as often as its weight says."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from kcache_conformance.fuzzing.judging.legality import is_legal
from kcache_conformance.fuzzing.objects.strategies import ObjectMaker
from kcache_conformance.fuzzing.reading import Reading, read
from kcache_conformance.fuzzing.shapes.kinds import kinds
from kcache_conformance.fuzzing.shapes.kubernetes import MANNERS
from kcache_conformance.fuzzing.shapes.shape import Record

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
    for manner in MANNERS
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


@pytest.mark.parametrize("is_whole", [False, True], ids=["pruned", "whole"])
@pytest.mark.parametrize("record", _KINDS.values(), ids=_KINDS)
@pytest.mark.parametrize("reading", _READINGS.values(), ids=_READINGS)
def test_what_is_made_is_legal(record: Record, reading: Reading, is_whole: bool):
    @_for_each(100)
    @given(ObjectMaker(reading, is_whole=is_whole).strategy(record))
    def run(obj: Any) -> None:
        assert is_legal(obj, record, _reads(reading))

    run()
