"""Pods by the combination of images that they run; the key joins a set in the order of iteration."""

from types import SimpleNamespace


def index_func(obj):
    if obj.spec is None:
        return []
    images = {container.image for container in obj.spec.containers or [] if container.image}
    if not images:
        return []
    return ["+".join(images)]


def _pod(name, *images):
    containers = [SimpleNamespace(name=f"c{number}", image=image) for number, image in enumerate(images)]
    return SimpleNamespace(
        metadata=SimpleNamespace(name=name, namespace="shop"),
        spec=SimpleNamespace(containers=containers),
    )


def witness():
    return [
        _pod("cart-0", "registry.example.com/cart:1.4"),
        _pod("cart-1", "registry.example.com/cart:1.4", "envoyproxy/envoy:v1.30", "fluent/fluent-bit:3.0", "redis:7"),
    ]
