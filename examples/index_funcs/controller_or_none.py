"""Objects by the controller that owns them. Faulty: None, and no empty list, for objects that nobody controls."""


def controller_of(metadata):
    for owner in metadata.get("ownerReferences") or []:
        if owner.get("controller"):
            return owner
    return None


def index_func(obj):
    owner = controller_of(obj["metadata"])
    if owner is None:
        return None
    namespace = obj["metadata"].get("namespace") or "default"
    return [f"{namespace}/{owner.get('kind')}/{owner.get('name')}"]


def witness():
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d9", "uid": "u-1", "controller": True}
    return [
        {"kind": "Pod", "metadata": {"name": "web-5d9-x", "namespace": "shop", "ownerReferences": [owner]}},
        {"kind": "Pod", "metadata": {"name": "alone", "namespace": "shop"}},
        {"kind": "Pod", "metadata": {"name": "shared", "ownerReferences": [{**owner, "controller": None}]}},
    ]
