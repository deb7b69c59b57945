"""Threads as lanes: what they are called, and in which order they stand."""

from __future__ import annotations

from kcache_model.history import FINAL_THREAD, PREFIX_THREAD


def lane_name(thread: int) -> str:
    """What the lane of a thread is called."""
    return {PREFIX_THREAD: "before", FINAL_THREAD: "afterwards"}.get(thread, f"thread {thread + 1}")


def lane_order(thread: int) -> tuple[int, int]:
    """Sorts lanes: what was before the threads first, what came afterwards last."""
    return {PREFIX_THREAD: 0, FINAL_THREAD: 2}.get(thread, 1), thread
