"""Every known kind."""

from __future__ import annotations

from .cluster_kinds import endpoints, event, ingress, node, persistent_volume, persistent_volume_claim, secret, service
from .kubernetes import FREE, Manner, plain
from .schema import Format, Map, Record, Text
from .workload_kinds import deployment, job, pod


def kinds(manner: Manner) -> tuple[Record, ...]:
    """Each known kind; the first has nothing but metadata and data."""
    return (
        plain("ConfigMap", manner, manner.field("data", Map(Text(Format.LABEL_KEY), FREE))),
        pod(manner),
        persistent_volume(manner),
        persistent_volume_claim(manner),
        service(manner),
        node(manner),
        deployment(manner),
        job(manner),
        event(manner),
        ingress(manner),
        endpoints(manner),
        secret(manner),
    )
