"""Services by their selector as a text. Faulty: its parts stand as the dict happens to hold them, not sorted."""


def selector_text(selector):
    return ",".join(f"{key}={value}" for key, value in selector.items())


def index_func(obj):
    selector = (obj.get("spec") or {}).get("selector")
    if not selector:
        return []
    namespace = obj["metadata"].get("namespace") or "default"
    return [f"{namespace}:{selector_text(selector)}"]


def service(name, selector):
    return {"kind": "Service", "metadata": {"name": name, "namespace": "shop"}, "spec": {"selector": selector}}


def witness():
    return [
        service("web", {"app": "web", "tier": "frontend"}),
        service("web", {"tier": "frontend", "app": "web"}),
        service("external", None),
    ]
