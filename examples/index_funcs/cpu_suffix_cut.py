"""Pods by the size of their CPU request. Faulty: what is not all digits is taken for millis, so 0.5 and 1e3 raise."""

SIZES = ((250, "small"), (2000, "medium"))


def millis(quantity):
    if quantity.isdigit():
        return int(quantity) * 1000
    return int(quantity[:-1])


def index_func(obj):
    containers = (obj.get("spec") or {}).get("containers") or []
    total = 0
    for container in containers:
        requests = (container.get("resources") or {}).get("requests") or {}
        if requests.get("cpu"):
            total += millis(requests["cpu"])
    return [next((size for limit, size in SIZES if total <= limit), "large")]


def pod(*requests):
    containers = [{"name": f"c{i}", "resources": {"requests": {"cpu": cpu}}} for i, cpu in enumerate(requests)]
    return {"kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}, "spec": {"containers": containers}}


def witness():
    return [pod("100m", "2"), pod("0.5"), pod("1e3")]
