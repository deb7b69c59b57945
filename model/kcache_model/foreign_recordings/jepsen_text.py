"""Logs of Jepsen: lines such as ``INFO  jepsen.util - 0  :invoke  :write  3``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from ..errors import FormatError
from .edn import edn_value
from .foreign_calls import ForeignEvent

_EVENT: Final = re.compile(
    r"(?:^|\s)(?P<process>\d+|:\S+)\s+:(?P<type>invoke|ok|fail|info)\s+:(?P<f>\S+)(?:\s+(?P<value>\S.*?))?\s*$"
)


def is_event(line: str) -> bool:
    """Whether a line of a log contains an event of a call."""
    return _EVENT.search(line) is not None


def text_events(lines: Iterable[str]) -> Iterator[ForeignEvent]:
    """Yield the events of a log. Lines without an event, and events of processes without a number, are left out.

    Raises:
        FormatError: a value cannot be read; the message names the line.
    """
    for number, line in enumerate(lines, start=1):
        match = _EVENT.search(line)
        if match is None or match["process"].startswith(":"):
            continue
        try:
            value = None if match["value"] is None else edn_value(match["value"])
        except FormatError as error:
            raise FormatError(f"line {number}: {str(error).removeprefix('line 1: ')}") from None
        yield ForeignEvent(number, int(match["process"]), match["type"], match["f"], None, value)
