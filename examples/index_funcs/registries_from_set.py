"""Pods by the registries of their images, as one text. Faulty: the parts stand in the order of a set."""

from types import SimpleNamespace

DEFAULT_REGISTRY = "docker.io"


def registry(image):
    host, slash, _ = image.partition("/")
    return host if slash and ("." in host or ":" in host) else DEFAULT_REGISTRY


def index_func(obj):
    containers = (obj.spec.containers or []) if obj.spec is not None else []
    registries = {registry(container.image) for container in containers if container.image}
    return ["+".join(registries)] if registries else []


def pod(name, *images):
    containers = [SimpleNamespace(name=f"c{i}", image=image) for i, image in enumerate(images)]
    return SimpleNamespace(metadata=SimpleNamespace(name=name), spec=SimpleNamespace(containers=containers))


def witness():
    return [
        pod("web-1", "nginx:1.27", "redis"),
        pod("web-2", "nginx:1.27", "quay.io/team/proxy:2", "ghcr.io/team/logs:5", None),
    ]
