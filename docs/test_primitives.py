"""``primitives.py``: the page has what the explorer says, and some of the bodies say it here."""

from __future__ import annotations

import sys

import primitives
import pytest

#: Python -> the first release in which ``Condition`` loses no notification (github.com/python/cpython/issues/112202).
CONDITION_MENDED = {(3, 11): (3, 11, 8), (3, 12): (3, 12, 2)}


@pytest.mark.parametrize("name", ["lock", "event", "semaphore", "barrier", "queue"])
def test_what_holds_is_proved(name: str) -> None:
    assert primitives.verdict_of(name).startswith("proved (")


def test_a_fault_of_asyncio_is_found_where_it_is_not_mended() -> None:
    is_mended = sys.version_info[:3] >= CONDITION_MENDED.get(sys.version_info[:2], (3, 13))
    assert primitives.verdict_of("condition").startswith(
        "proved (" if is_mended else "**fails**: a notification is lost"
    )


def test_the_page_has_a_row_for_each_body() -> None:
    columns = primitives.read_page()
    assert len(columns) > 1
    assert all(list(column) == list(primitives.NAMES.values()) for column in columns.values())
    assert primitives.page_of(columns) == primitives.PAGE.read_text(encoding="utf-8")
