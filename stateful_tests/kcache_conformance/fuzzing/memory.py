"""Memory limit of a child process."""

from __future__ import annotations

import contextlib

_MOST_MEMORY = 6 * 2**30


def limit_memory() -> None:
    """Limit the memory of this process, so that a function that fills it raises a MemoryError."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        limit = _MOST_MEMORY if most == resource.RLIM_INFINITY else min(most, _MOST_MEMORY)
        resource.setrlimit(resource.RLIMIT_AS, (limit, most))
