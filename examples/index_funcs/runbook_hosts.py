"""Alerts by the host of their runbook. Correct: reading an address is remembered by lru_cache, str by str."""

import functools
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass
class Alert:
    """A rule that calls somebody."""

    name: str
    severity: str
    runbook: str | None = None


@functools.lru_cache(maxsize=256)
def host_of(address):
    try:
        return urlsplit(address.strip()).hostname or ""
    except ValueError:
        return ""  # such as an address with half a pair of brackets


def index_func(obj: Alert):
    host = host_of(obj.runbook) if obj.runbook else ""
    return [host or "<none>", f"severity/{obj.severity.casefold()}"]


def witness():
    return [
        Alert("disk", "Page", "https://Wiki.example.com:8443/disk?x=1"),
        Alert("cpu", "ticket"),
        Alert("net", "", "http://[::1"),
        Alert("mem", "page", "see the wiki"),
    ]
