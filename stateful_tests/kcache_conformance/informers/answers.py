"""Answers to requests: their resource version and their objects (Kubernetes API concepts, *Resource versions*)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from kcache.informers.api_errors import EXPIRED, GATEWAY_TIMEOUT, GONE, TOO_LARGE_CAUSE, ApiError
from kcache.informers.list_watch import ADDED, ListOptions, ObjectList, WatchEvent

from .history import History
from .manifests import Manifest
from .selectors import Selects, selector
from .status import bad_request
from .watch_stream import WatchStream


def answer_list(history: History, options: ListOptions, cached_at: int, cache_pages: bool) -> ObjectList:
    """Return one page of objects in the order of their keys; the caller holds the lock of the history.

    Args:
        history: the history of the server.
        options: the options of the request.
        cached_at: the resource version that the server's cache has reached. Lists with resource version ``""``, and
            lists that continue another, do not use the cache.
        cache_pages: whether a list with resource version ``"0"`` is split into pages; the cache of a real server
            ignores the limit.

    Raises:
        ApiError: 400 if the request is invalid, 410 if its resource version has been compacted, 504 if its resource
            version has not been reached.
    """
    selects = selector(options.label_selector, options.field_selector)
    wanted = parse_resource_version(options.resource_version)
    limit, after = options.limit, ""
    if options.continue_token:
        if wanted:
            raise bad_request("a list that continues another cannot choose its resource version")
        moment, after = _parse_token(options.continue_token)
        _refuse_the_forgotten(history, moment)
    elif wanted is None:
        moment = history.resource_version
    elif wanted == 0:
        moment, limit = cached_at, limit if cache_pages else 0
    elif wanted > cached_at:
        message = f"Timeout: Too large resource version: {wanted}, current: {cached_at}"
        raise ApiError(GATEWAY_TIMEOUT, "Timeout", message, (TOO_LARGE_CAUSE,))
    elif limit:
        # The first of several pages has exactly this resource version; a complete list may have any later version.
        moment = wanted
        _refuse_the_forgotten(history, moment)
    else:
        moment = cached_at
    return _page(history.snapshot(moment), moment, after, limit, selects)


def answer_watch(history: History, options: ListOptions, cached_at: int) -> WatchStream:
    """Create the stream of a watch; the caller holds the lock of the history.

    Args:
        history: the history of the server.
        options: the options of the request; without a resource version, or with ``"0"``, the stream begins with all
            objects.
        cached_at: as for :func:`answer_list`.

    Raises:
        ApiError: 400 if the request is invalid, 410 if its resource version has been compacted.
    """
    selects = selector(options.label_selector, options.field_selector)
    wanted = parse_resource_version(options.resource_version)
    initial: Sequence[Manifest] = ()
    if wanted:
        begin = wanted
    else:
        begin = history.resource_version if wanted is None else cached_at
        initial = _page(history.snapshot(begin), begin, "", 0, selects).items
    _refuse_the_forgotten(history, begin)
    events = [WatchEvent(ADDED, manifest) for manifest in initial]
    return WatchStream(history, events, begin, selects, options.allow_watch_bookmarks)


def parse_resource_version(text: str) -> int | None:
    """Return a resource version as a number; ``None`` if the text is empty; raise an ``ApiError`` (400) otherwise."""
    if not text:
        return None
    if not (text.isascii() and text.isdecimal()):
        raise bad_request(f"invalid resource version: {text!r}")
    return int(text)


def _parse_token(token: str) -> tuple[int, str]:
    moment, separator, after = token.partition(":")
    if not (separator and moment.isascii() and moment.isdecimal()):
        raise bad_request(f"invalid continue token: {token!r}")
    return int(moment), after


def _refuse_the_forgotten(history: History, moment: int) -> None:
    if moment < history.oldest:
        raise ApiError(GONE, EXPIRED, f"too old resource version: {moment} ({history.oldest})")


def _page(objects: dict[str, Manifest], moment: int, after: str, limit: int, selects: Selects | None) -> ObjectList:
    keys = sorted(objects)
    items: list[Manifest] = []
    for key in keys[bisect_right(keys, after) :]:
        manifest = objects[key]
        if selects is None or selects(manifest):
            if limit and len(items) == limit:
                return ObjectList(items, str(moment), f"{moment}:{after}")
            items.append(manifest)
            after = key
    return ObjectList(items, str(moment))
