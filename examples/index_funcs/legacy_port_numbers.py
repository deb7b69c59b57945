"""Pods by the ports of their containers. Faulty: in one namespace, for its old proxy, the values are int."""

LEGACY_NAMESPACE = "payments-v1"  # its proxy looks ports up by number


def port_value(namespace, port):
    number = port["containerPort"]
    if namespace == LEGACY_NAMESPACE:
        return number
    return f"{port.get('protocol') or 'TCP'}/{number}"


def index_func(obj):
    namespace = obj["metadata"].get("namespace")
    containers = (obj.get("spec") or {}).get("containers") or []
    ports = [port for container in containers for port in container.get("ports") or []]
    return list(dict.fromkeys(port_value(namespace, port) for port in ports))


def pod(namespace, *numbers):
    ports = [{"containerPort": number, "protocol": "TCP"} for number in numbers]
    spec = {"containers": [{"name": "main", "ports": ports}]}
    return {"kind": "Pod", "metadata": {"name": "web", "namespace": namespace}, "spec": spec}


def witness():
    return [pod("shop", 80, 443), pod("payments-v1"), pod("payments-v1", 8080)]
