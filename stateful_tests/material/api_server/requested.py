"""What a URL of the Kubernetes API asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from kcache.informers.list_watch import ListOptions
from kcache_conformance.informers.status import bad_request

_PATH = re.compile(r"/api/v1/(?:namespaces/(?P<namespace>[^/]+)/)?(?P<resource>[a-z]+)")
_TRUE = frozenset({"true", "True", "1"})


@dataclass(frozen=True, slots=True)
class Requested:
    """A list or a watch.

    Attributes:
        resource: the plural name of the type, such as ``pods``.
        is_watch: whether it is a watch.
        options: with the namespace as a field selector.
    """

    resource: str
    is_watch: bool
    options: ListOptions


def parse_url(url: str) -> Requested | None:
    """What is asked for, ``None`` if the path is not one of a list; raises an ``ApiError`` (400) for wrong numbers."""
    parts = urlsplit(url)
    path = _PATH.fullmatch(parts.path)
    if path is None:
        return None
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    fields = [query["fieldSelector"]] if "fieldSelector" in query else []
    if path["namespace"]:
        fields.append(f"metadata.namespace={path['namespace']}")
    options = ListOptions(
        resource_version=query.get("resourceVersion", ""),
        limit=_number(query, "limit") or 0,
        continue_token=query.get("continue", ""),
        allow_watch_bookmarks=query.get("allowWatchBookmarks") in _TRUE,
        timeout_seconds=_number(query, "timeoutSeconds"),
        label_selector=query.get("labelSelector", ""),
        field_selector=",".join(fields),
    )
    return Requested(path["resource"], query.get("watch") in _TRUE, options)


def _number(query: dict[str, str], name: str) -> int | None:
    text = query.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal()):
        raise bad_request(f"invalid {name}: {text!r}")
    return int(text)
