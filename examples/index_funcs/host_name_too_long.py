"""Objects by their host name in the cluster. Faulty: the idna codec refuses a label of more than 63 characters."""

CLUSTER = "svc.cluster.local"


def host_name(name, namespace):
    host = f"{name}.{namespace}.{CLUSTER}"
    return host.encode("idna").decode("ascii")


def index_func(obj):
    name = obj["metadata"].get("name")
    if not name:
        return []
    namespace = obj["metadata"].get("namespace") or "default"
    return [host_name(name, namespace)]


def witness():
    return [
        {"kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}},
        {"kind": "Pod", "metadata": {"name": "a" * 63 + ".b", "namespace": "shop"}},
        {"kind": "Pod", "metadata": {"name": "a" * 64, "namespace": "shop"}},
    ]
