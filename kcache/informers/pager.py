"""Lists page by page (client-go ``tools/pager``)."""

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
        resource_version: that of the first page: the others belong to the same state.
        is_paginated: whether the server gave more than one page.
    """

    items: list[Any]
    resource_version: str
    is_paginated: bool


class ListPager:
    """Asks for one page after the other (client-go ``ListPager``).

    Args:
        list_func: returns one page.
        page_size: the most objects of a page; 0 asks for all objects at once.
    """

    def __init__(self, list_func: Callable[[ListOptions], ObjectList], page_size: int = DEFAULT_PAGE_SIZE) -> None:
        self._list_func = list_func
        self._page_size = page_size

    def list(self, options: ListOptions, stop: StopSignal) -> PagedList | None:
        """All objects, or ``None`` if ``stop`` was set before the last page came.

        If the rest of the pages has expired, the list begins anew without pages, at the resource version that
        ``options`` ask for. ``options.limit``, unless 0, comes before the page size.

        Raises:
            Exception: whatever ``list_func`` raises; an expired first page included.
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
            # A server refuses a resource version beside a continue token, which implies one.
            request = replace(first, resource_version="", continue_token=page.continue_token)
        return None
