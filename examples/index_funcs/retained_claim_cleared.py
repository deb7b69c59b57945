"""Volumes by the claim that holds them. Faulty: a released volume that is retained loses its claimRef on the way."""

RETAINED = "<retained>"


def index_func(obj):
    spec = obj.get("spec") or {}
    phase = (obj.get("status") or {}).get("phase")
    if phase == "Released" and spec.get("persistentVolumeReclaimPolicy") == "Retain":
        spec["claimRef"] = None  # that claim is gone
        return [RETAINED]
    claim = spec.get("claimRef")
    if not claim or not claim.get("name"):
        return []
    return [f"{claim.get('namespace') or 'default'}/{claim['name']}"]


def volume(name, phase, policy):
    spec = {"persistentVolumeReclaimPolicy": policy, "claimRef": {"namespace": "shop", "name": "db-data"}}
    return {"kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec, "status": {"phase": phase}}


def witness():
    return [
        volume("pv-1", "Bound", "Retain"),
        volume("pv-2", "Released", "Delete"),
        volume("pv-3", "Released", "Retain"),
    ]
