"""The limit of the memory that a child process may take."""

from __future__ import annotations

import contextlib

_MOST_MEMORY = 6 * 2**30


def limit_memory() -> None:
    """A function that fills the memory gets a MemoryError instead of taking the machine down."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        limit = _MOST_MEMORY if most == resource.RLIM_INFINITY else min(most, _MOST_MEMORY)
        resource.setrlimit(resource.RLIMIT_AS, (limit, most))
