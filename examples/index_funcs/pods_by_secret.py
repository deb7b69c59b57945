"""Pods by the secrets that they mount; the set that leaves out repeated secrets lives on between the calls."""

from types import SimpleNamespace

_seen = set()


def _first_time(key):
    if key in _seen:
        return False
    _seen.add(key)
    return True


def index_func(obj):
    if obj.spec is None:
        return []
    values = []
    for volume in obj.spec.volumes or []:
        if volume.secret is not None and volume.secret.secret_name:
            key = f"{obj.metadata.namespace or 'default'}/{volume.secret.secret_name}"
            if _first_time(key):
                values.append(key)
    return values


def _pod(name, *secrets):
    volumes = [SimpleNamespace(name=f"v-{s}", secret=SimpleNamespace(secret_name=s)) for s in secrets]
    return SimpleNamespace(
        metadata=SimpleNamespace(name=name, namespace="shop"),
        spec=SimpleNamespace(containers=[SimpleNamespace(name="main")], volumes=volumes),
    )


def witness():
    return [_pod("cart-0", "tls", "database", "tls"), _pod("cart-1", "tls")]
