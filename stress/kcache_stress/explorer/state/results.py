"""Containers that the harness and the target exchange, and that the harness clears when an execution is over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..strategies.interface import CallLog
from .canonical_state import CanonicalState


def passed_containers(logs: Sequence[CallLog]) -> Iterator[object]:
    """What was passed to calls: if it is shared, it counts which one it is."""
    for log in logs:
        for call in log.calls:
            for argument in call[2]:
                if type(argument) in (list, dict):
                    yield argument


def keeps_a_result(canonical: CanonicalState, logs: Sequence[CallLog]) -> bool:
    """Whether something that a call has returned is part of the state that was read: then it may change."""
    return any(
        type(result) in (list, dict, set) and id(result) in canonical.numbers
        for log in logs
        for _, result, _ in log.records
    )
