"""Pager: it requests a list page by page (client-go ``tools/pager``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from .api_errors import is_expired
from .list_watch import ListOptions, ObjectList
from .stopping import StopSignal

DEFAULT_PAGE_SIZE: Final = 500
"""Objects of one page (``pager.defaultPageSize``)."""


@dataclass(frozen=True)
class PagedList:
    """All pages of a list, together.

    Attributes:
        items: the objects, in the order of the pages.
        resource_version: the version of the first page; the other pages belong to the same state.
        is_paginated: whether the server returned more than one page.
    """

    items: list[Any]
    resource_version: str
    is_paginated: bool


class ListPager:
    """Requests one page after the other (client-go ``ListPager``).

    Args:
        list_func: returns one page.
        page_size: the maximum number of objects of a page; 0 requests all objects at once.
    """

    def __init__(self, list_func: Callable[[ListOptions], ObjectList], page_size: int = DEFAULT_PAGE_SIZE) -> None:
        self._list_func = list_func
        self._page_size = page_size

    def list(self, options: ListOptions, stop: StopSignal) -> PagedList | None:
        """Return all objects, or ``None`` if ``stop`` was set before the last page arrived.

        If a later page has expired, the list is requested again without pages, at the resource version of ``options``.
        ``options.limit``, unless 0, overrides the page size.

        Raises:
            Exception: any error that ``list_func`` raises, also if the first page has expired.
        """
        first = replace(options, limit=options.limit or self._page_size)
        request = first
        items: list[Any] = []
        resource_version: str | None = None
        while not stop.is_set():
            try:
                page = self._list_func(request)
            except Exception as error:
                if request.continue_token == "" or not is_expired(error) or stop.is_set():
                    raise
                page = self._list_func(replace(first, limit=0, continue_token=""))
                return PagedList(list(page.items), page.resource_version, is_paginated=True)
            items.extend(page.items)
            if resource_version is None:
                resource_version = page.resource_version
            if page.continue_token == "":
                return PagedList(items, resource_version, is_paginated=request is not first)
            # A server rejects a resource version together with a continue token, which contains one.
            request = replace(first, resource_version="", continue_token=page.continue_token)
        return None
