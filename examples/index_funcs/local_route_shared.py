"""Services by the backend that a router sends to. Faulty: one that names itself gets a list which all such share."""

from types import SimpleNamespace

BACKEND = "router.example.com/backend"  # in the router's notation: local.cluster.svc.NAMESPACE.NAME
LOCAL_ROUTES = ["local"]


def own_backend(metadata):
    host = (metadata.name or "", metadata.namespace or "default", "svc", "cluster", "local")
    return ".".join(reversed(host))


def index_func(obj):
    backend = (obj.metadata.annotations or {}).get(BACKEND)
    if not backend:
        return []
    if backend == own_backend(obj.metadata):
        return LOCAL_ROUTES
    return [f"remote/{backend}"]


def service(name, namespace, backend):
    annotations = None if backend is None else {BACKEND: backend}
    return SimpleNamespace(metadata=SimpleNamespace(name=name, namespace=namespace, annotations=annotations))


def witness():
    return [
        service("web", "shop", None),
        service("web", "shop", "local.cluster.svc.shop.api"),
        service("web", "shop", "local.cluster.svc.shop.web"),
        service("api", None, "local.cluster.svc.default.api"),
    ]
