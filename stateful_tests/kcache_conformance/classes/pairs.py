"""Pairs of methods that belong together: one takes the result of the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_TAKERS: Final[Mapping[str, frozenset[str]]] = {
    opener: frozenset(takers.split())
    for opener, takers in {
        "acquire": "release renew",
        "add": "remove discard",
        "allocate": "free release deallocate",
        "attach": "detach",
        "begin": "commit rollback abort end cancel",
        "borrow": "give return put release",
        "checkout": "checkin",
        "check": "check return",
        "claim": "release complete fail",
        "connect": "disconnect close",
        "create": "close destroy delete",
        "enter": "leave exit",
        "get": "put release return give",
        "getconn": "putconn",
        "grant": "revoke",
        "issue": "redeem revoke verify check",
        "lease": "release renew return",
        "lock": "unlock",
        "obtain": "release return",
        "open": "close",
        "register": "unregister deregister",
        "rent": "return",
        "reserve": "confirm cancel release commit",
        "schedule": "cancel unschedule",
        "start": "stop finish end",
        "submit": "result cancel wait done",
        "subscribe": "unsubscribe cancel",
        "take": "give put return release ack complete",
    }.items()
}
"""First word of the name of a method -> the first words of methods that take its result. ``check_out`` and
``check_in`` differ in the second word only."""


def belong_together(producer: str, taker: str) -> bool:
    """Whether, by their names, one method takes the result of the other: ``acquire`` and ``release``.

    If both names have further words, these must be equal: ``acquire_read`` and ``release_write`` do not match.
    """
    first, _, rest = producer.partition("_")
    own, _, own_rest = taker.partition("_")
    if own not in _TAKERS.get(first, ()) or producer == taker:
        return False
    return not rest or not own_rest or rest == own_rest or {rest, own_rest} == {"out", "in"}
