"""Pods by image digest (or repository where unpinned).

Correct: the parser is memoised, but on the image text alone and with immutable results; each call makes its own list.
"""

from functools import lru_cache
from types import SimpleNamespace


@lru_cache(maxsize=2048)
def _parse(image):
    repository, at, digest = image.partition("@")
    if at and digest:
        return ("digest", digest)
    head, slash, last = repository.rpartition("/")
    return ("repository", head + slash + last.partition(":")[0])


def index_func(obj):
    values = {}
    containers = (obj.spec.containers if obj.spec else None) or []
    for container in containers:
        if container.image:
            kind, text = _parse(container.image)
            values[f"{kind}/{text}"] = None
    return list(values)


def _pod(name, *images):
    containers = [SimpleNamespace(name=f"c{number}", image=image) for number, image in enumerate(images)]
    return SimpleNamespace(
        metadata=SimpleNamespace(name=name, namespace="shop"),
        spec=SimpleNamespace(containers=containers),
    )


def witness():
    pinned = "registry.example.com:5000/cart@sha256:" + "0f" * 32
    return [
        _pod("cart-0", pinned, "redis:7", "redis:7.2", None),
        _pod("cart-1", "registry.example.com:5000/cart:1.4"),
        SimpleNamespace(metadata=SimpleNamespace(name="cart-2", namespace="shop"), spec=None),
    ]
