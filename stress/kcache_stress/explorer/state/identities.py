"""Which objects are which: what two states that look alike must have in common besides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..events import WRITE, Trace, location
from ..strategies.interface import CallLog
from .canonical_state import CanonicalState
from .namespaces import Namespaces


def which_they_are(
    canonical: CanonicalState, current: tuple[int, ...], known: Iterable[tuple[tuple[int, ...], list[object]]]
) -> list[object]:
    """Find objects that threads know in the state that ``canonical`` has just read.

    Those that are part of it no more are read too.

    Args:
        canonical: has read the state, and goes on reading.
        current: ids of the objects of the state.
        known: ids of the objects that somebody knows, and these objects.
    """
    tokens: list[object] = []
    canonical.tokens = tokens
    canonical.objects = canonical.objects.copy()
    for ids, objects in known:
        if ids == current:
            tokens.append(None)
            continue
        found = tuple(map(canonical.numbers.get, ids))
        tokens.append(found)
        if None in found:
            canonical.read(objects)
    return tokens


def passed_containers(logs: Sequence[CallLog]) -> Iterator[object]:
    """What was passed to calls and is cleared in the end: if it is shared, it counts which one it is."""
    for log in logs:
        for call in log.calls:
            for argument in call[2]:
                if type(argument) in (list, dict):
                    yield argument


def keeps_a_result(canonical: CanonicalState, logs: Sequence[CallLog]) -> bool:
    """Whether something that a call has returned can be reached: it may change, and it is cleared in the end."""
    return any(
        type(result) in (list, dict, set) and id(result) in canonical.numbers
        for log in logs
        for _, result, _ in log.records
    )


def open_tail(
    canonical: CanonicalState, namespaces: Namespaces, trace: Trace, thread: int
) -> frozenset[tuple[int, object, int]]:
    """What a thread has accessed since its last synchronisation, of what others can reach."""
    found: set[tuple[int, object, int]] = set()
    for by, kind, obj, slot in reversed(trace):
        if by != thread:
            continue
        if kind > WRITE:
            break
        number = canonical.numbers.get(id(obj))
        if number is not None or namespaces.name_of(obj) is not None:
            is_whole = location(obj, slot) == id(obj)
            found.add((id(obj) if number is None else number, None if is_whole else slot, kind))
    return frozenset(found)
