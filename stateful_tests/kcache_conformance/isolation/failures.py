"""Jobs that say nothing about what they ran."""

from __future__ import annotations

from kcache_model.target import TargetError

from .supervisor import JobEnd


class HarnessError(Exception):
    """The harness itself failed; this says nothing about the implementation."""


def raise_if_failed(end: JobEnd) -> None:
    """Raise what kept a job from saying anything about its target; a hang or a crash says something.

    Raises:
        TargetError: the target cannot be loaded, or is none.
        HarnessError: the harness failed.
    """
    match end.how:
        case "target_error":
            raise TargetError(end.message)
        case "harness_error":
            raise HarnessError(end.message)
