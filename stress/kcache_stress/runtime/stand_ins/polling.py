"""Module ``select`` of a virtual world: ``select.select`` and ``select.poll``; the other functions are missing.

A call may mix descriptors of the system with virtual ones: for example inotify's, and a pipe that ends its thread. The
system is asked whether they are ready whenever a thread could go on; a thread waits for the first ready descriptor.
Such an execution is no part of a proof, because no event reports when a descriptor of the system becomes ready.
"""

from __future__ import annotations

import errno
import select
import sys
from collections.abc import Callable, Iterable
from functools import partial
from types import ModuleType
from typing import Any, Final

from ..threads.refusal import system_error, where
from .network import FIRST_DESCRIPTOR, Network, Wakeup

OUTSIDE: Final = "a descriptor of the system that no thread of the test makes ready"

_READ: Final = getattr(select, "POLLIN", 1)
_WRITE: Final = getattr(select, "POLLOUT", 4)
_INVALID: Final = getattr(select, "POLLNVAL", 32)

DescriptorUse = tuple[int, bool]
"""A descriptor, and whether the caller wants to read it; if not, the caller wants to write it."""


class OutsideWakeup(Wakeup):
    """A wakeup that is also free as soon as a descriptor of the system is ready.

    Attributes:
        descriptors: the descriptors of the system.
    """

    __slots__ = ("_is_rung", "descriptors")
    what = OUTSIDE

    def __init__(self, descriptors: Iterable[DescriptorUse]) -> None:
        self.descriptors = tuple(descriptors)
        super().__init__()

    @property
    def free(self) -> bool:
        """Whether a waiting thread may go on."""
        return self._is_rung or self.is_of_system

    @free.setter
    def free(self, is_rung: bool) -> None:
        self._is_rung = is_rung

    @property
    def is_of_system(self) -> bool:
        """Whether a descriptor of the system is ready."""
        return any(map(_is_ready, self.descriptors))


def ready(network: Network, requests: Iterable[DescriptorUse], timeout: float | None) -> list[DescriptorUse]:
    """Return the ready descriptors; wait until one is ready, for at most ``timeout`` seconds (``None``: forever).

    Raises:
        OSError: a virtual descriptor is not open.
    """
    requests = list(requests)
    outside = [one for one in requests if one[0] < FIRST_DESCRIPTOR]
    within = [one for one in requests if one[0] >= FIRST_DESCRIPTOR]
    make_wakeup: Callable[[], Wakeup] = network.make_wakeup
    if outside:
        scheduler = network.scheduler
        kind: type[OutsideWakeup] = type("OutsideWakeup", (OutsideWakeup,), {"scheduler": scheduler, "__slots__": ()})
        make_wakeup = partial(kind, outside)
        timeout = 0 if any(map(_is_ready, outside)) else timeout
        if scheduler.live:
            scheduler.proof_obstacles[f"{where(sys._getframe(2))}: polls a descriptor of the system"] = None
    things = [network.end_of(descriptor) for descriptor, _ in within]
    readiness = network.ready(things, [is_read for _, is_read in within], timeout, make_wakeup)
    are_ready = {one for one, is_ready in zip(within, readiness, strict=True) if is_ready}
    are_ready.update(filter(_is_ready, outside))
    return [one for one in requests if one in are_ready]


def _is_ready(one: DescriptorUse) -> bool:
    """Whether a descriptor of the system is ready. A closed or invalid descriptor is ready: its use will fail."""
    descriptor, is_read = one
    try:
        result = select.select([descriptor] if is_read else [], [] if is_read else [descriptor], [], 0)
    except (OSError, ValueError):
        return True
    return bool(result[0] or result[1])


class _Select:
    """``select.select`` as an object: `selectors` stores it in a class, where a function would become a method."""

    def __init__(self, network: Network) -> None:
        self._network = network

    def __call__(
        self, reads: Any, writes: Any, failing: Any, timeout: float | None = None
    ) -> tuple[list[Any], list[Any], list[Any]]:
        if timeout is not None and timeout < 0:
            raise ValueError("timeout must be non-negative")
        reads, writes, _ = list(reads), list(writes), list(failing)
        to_read, to_write = (
            [(_descriptor(file), True) for file in reads],
            [(_descriptor(file), False) for file in writes],
        )
        answered = set(ready(self._network, [*to_read, *to_write], timeout))
        return (
            [file for file, one in zip(reads, to_read, strict=True) if one in answered],
            [file for file, one in zip(writes, to_write, strict=True) if one in answered],
            [],
        )


class Poll:
    """``select.poll()``."""

    network: Network  # set by the subclass that `make_select_module` creates

    def __init__(self) -> None:
        self._masks: dict[int, int] = {}

    def register(self, fd: Any, eventmask: int = _READ | _WRITE) -> None:
        """Add a descriptor."""
        self._masks[_descriptor(fd)] = eventmask

    def modify(self, fd: Any, eventmask: int) -> None:
        """Change the events of a descriptor.

        Raises:
            OSError: the descriptor is not registered.
        """
        if _descriptor(fd) not in self._masks:
            raise system_error(errno.ENOENT)
        self.register(fd, eventmask)

    def unregister(self, fd: Any) -> None:
        """Remove a descriptor.

        Raises:
            KeyError: the descriptor is not registered.
        """
        del self._masks[_descriptor(fd)]

    def poll(self, timeout: float | None = None) -> list[tuple[int, int]]:
        """Return ``(descriptor, ready events)`` pairs; wait at most ``timeout`` milliseconds, or forever (``None``)."""
        masks = dict(self._masks)
        closed = [fd for fd in masks if self.network.knows(fd) and fd not in self.network.ends]
        if closed:
            return [(fd, _INVALID) for fd in closed]
        requests = [(fd, way == _READ) for fd, mask in masks.items() for way in (_READ, _WRITE) if mask & way]
        answered = ready(self.network, requests, None if timeout is None or timeout < 0 else timeout / 1000)
        events: dict[int, int] = {}
        for fd, is_read in answered:
            events[fd] = events.get(fd, 0) | (_READ if is_read else _WRITE)
        return list(events.items())


def _descriptor(file: Any) -> int:
    return file if isinstance(file, int) else int(file.fileno())


def make_select_module(network: Network) -> ModuleType:
    """Create the stand-in for ``select``; it has the functions that `selectors` needs."""
    module = ModuleType("select")
    module.__dict__.update(select=_Select(network), error=OSError)
    if hasattr(select, "poll"):
        module.__dict__.update(poll=type("poll", (Poll,), {"network": network}))
        module.__dict__.update((name, value) for name, value in vars(select).items() if name.startswith("POLL"))
    return module
