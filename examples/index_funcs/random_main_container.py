"""Pods by their main container. Faulty: where no container is called main, chance picks one at each call."""

import random
from types import SimpleNamespace

MAIN = "main"


def index_func(obj):
    containers = (obj.spec.containers or []) if obj.spec is not None else []
    names = [container.name for container in containers]
    if not names:
        return []
    return [MAIN if MAIN in names else random.choice(names)]


def pod(name, *containers):
    spec = SimpleNamespace(containers=[SimpleNamespace(name=container) for container in containers])
    return SimpleNamespace(metadata=SimpleNamespace(name=name, namespace="shop"), spec=spec)


def witness():
    return [pod("web-1", "main", "proxy"), pod("web-2", "nginx", "proxy", "logs", "metrics"), pod("web-3")]
