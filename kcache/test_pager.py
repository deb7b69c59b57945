from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kcache.informers.api_errors import ApiError
from kcache.informers.list_watch import ListOptions, ObjectList
from kcache.informers.pager import ListPager, PagedList
from kcache.informers.stopping import StopSignal

_EXPIRED = ApiError(410, "Expired", "too old")


class _Server:
    """Gives the pages that it was given, and notes what it was asked for."""

    def __init__(self, *replies: ObjectList | Exception | Callable[[], ObjectList]) -> None:
        self._replies = list(replies)
        self.requests: list[tuple[str, int, str]] = []
        self.options: list[ListOptions] = []

    def list(self, options: ListOptions) -> ObjectList:
        self.options.append(options)
        self.requests.append((options.resource_version, options.limit, options.continue_token))
        reply = self._replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, ObjectList) else reply()


def _list(server: _Server, page_size: int = 2, stop: StopSignal | None = None, **options: Any) -> PagedList | None:
    pager = ListPager(server.list, page_size)
    return pager.list(ListOptions(**{"resource_version": "0", **options}), stop or StopSignal())


def test_a_single_page() -> None:
    server = _Server(ObjectList(["a", "b"], "10"))
    assert _list(server) == PagedList(["a", "b"], "10", is_paginated=False)
    assert server.requests == [("0", 2, "")]


def test_pages_of_five_hundred_by_default() -> None:
    server = _Server(ObjectList([], "10"))
    ListPager(server.list).list(ListOptions(resource_version="0"), StopSignal())
    assert server.requests == [("0", 500, "")]


def test_page_size_zero_asks_for_everything() -> None:
    server = _Server(ObjectList(["a"], "10"))
    _list(server, page_size=0)
    assert server.requests == [("0", 0, "")]


def test_the_limit_that_was_asked_for_comes_first() -> None:
    server = _Server(ObjectList(["a"], "10"))
    _list(server, limit=7)
    assert server.requests == [("0", 7, "")]


def test_pages_are_followed_without_a_resource_version_which_is_that_of_the_first() -> None:
    server = _Server(ObjectList("ab", "10", "t1"), ObjectList("cd", "11", "t2"), ObjectList("e", "12"))
    assert _list(server) == PagedList(list("abcde"), "10", is_paginated=True)
    assert server.requests == [("0", 2, ""), ("", 2, "t1"), ("", 2, "t2")]


def test_empty_pages_are_followed() -> None:
    server = _Server(ObjectList([], "10", "t1"), ObjectList(["a"], "10"))
    assert _list(server) == PagedList(["a"], "10", is_paginated=True)


def test_other_options_are_kept_on_each_page() -> None:
    server = _Server(ObjectList("a", "10", "t1"), _EXPIRED, ObjectList("a", "11"))
    _list(server, label_selector="app=x", field_selector="spec.nodeName=n")
    assert [(o.label_selector, o.field_selector) for o in server.options] == [("app=x", "spec.nodeName=n")] * 3


def test_an_expired_later_page_leads_to_one_full_list_at_the_first_resource_version() -> None:
    server = _Server(ObjectList("ab", "10", "t1"), _EXPIRED, ObjectList("abcd", "12"))
    assert _list(server, resource_version="9") == PagedList(list("abcd"), "12", is_paginated=True)
    assert server.requests == [("9", 2, ""), ("", 2, "t1"), ("9", 0, "")]


def test_an_error_of_that_full_list_is_raised() -> None:
    broken = ApiError(500, "InternalError", "broken")
    server = _Server(ObjectList("ab", "10", "t1"), _EXPIRED, broken)
    with pytest.raises(ApiError) as caught:
        _list(server)
    assert caught.value is broken


def test_an_expired_first_page_is_an_error() -> None:
    server = _Server(_EXPIRED)
    with pytest.raises(ApiError) as caught:
        _list(server)
    assert caught.value is _EXPIRED
    assert len(server.requests) == 1


def test_other_errors_on_later_pages_are_raised() -> None:
    server = _Server(ObjectList("ab", "10", "t1"), ApiError(500, "InternalError", "broken"))
    with pytest.raises(ApiError, match="broken"):
        _list(server)
    assert len(server.requests) == 2


def test_nothing_is_asked_for_once_it_is_time_to_stop() -> None:
    stop = StopSignal()
    stop.set()
    server = _Server()
    assert _list(server, stop=stop) is None
    assert server.requests == []


def test_stops_between_pages() -> None:
    stop = StopSignal()

    def stop_and_answer() -> ObjectList:
        stop.set()
        return ObjectList("ab", "10", "t1")

    server = _Server(stop_and_answer)
    assert _list(server, stop=stop) is None
    assert len(server.requests) == 1


def test_no_full_list_once_it_is_time_to_stop() -> None:
    stop = StopSignal()

    def stop_and_expire() -> ObjectList:
        stop.set()
        raise _EXPIRED

    server = _Server(ObjectList("ab", "10", "t1"), stop_and_expire)
    with pytest.raises(ApiError):
        _list(server, stop=stop)
    assert len(server.requests) == 2


def test_items_may_come_from_a_generator_and_are_not_changed() -> None:
    items = ["a", "b"]
    server = _Server(ObjectList((item for item in "xy"), "10", "t1"), ObjectList(items, "10"))  # type: ignore[arg-type]
    listed = _list(server)
    assert listed is not None
    assert listed.items == ["x", "y", "a", "b"]
    listed.items.append("c")
    assert items == ["a", "b"]
