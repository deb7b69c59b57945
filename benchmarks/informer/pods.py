"""Pods as a small cluster has them, and what happens to them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Manifest = dict[str, Any]

NODES = 50


def pod(number: int, version: int) -> Manifest:
    """A running pod with one container, about 1.2 KB of JSON; it moves to another node with each version."""
    name, labels = f"web-{number}", {"app": "web", "tier": f"tier-{number % 5}", "pod-template-hash": "5d4f8c7b9d"}
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    resources = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "500m", "memory": "256Mi"}}
    container = {
        "name": "web",
        "image": "registry.example.com/web:1.2.3",
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        "env": [{"name": "PORT", "value": "8080"}, {"name": "MODE", "value": "production"}],
        "resources": resources,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": f"namespace-{number % 10}",
            "uid": f"uid-{number}",
            "resourceVersion": str(version),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": labels,
        },
        "spec": {"nodeName": f"node-{version % NODES}", "containers": [container], "restartPolicy": "Always"},
        "status": {"phase": "Running", "podIP": "10.0.0.1", "conditions": conditions},
    }


def listed(objects: int) -> list[Manifest]:
    """What there is at first."""
    return [pod(number, number + 1) for number in range(objects)]


def updates(objects: int, events: int) -> Iterator[Manifest]:
    """What changes afterwards: one pod after the other."""
    return (pod(event % objects, objects + event + 1) for event in range(events))


def lines(objects: int, events: int) -> list[bytes]:
    """The updates as a watch sends them."""
    return [json.dumps({"type": "MODIFIED", "object": obj}).encode() + b"\n" for obj in updates(objects, events)]
