"""Greenlets that wait for something to do: to make one for each virtual thread would take longer than most threads."""

from __future__ import annotations

from collections.abc import Callable

import greenlet


class GreenletPool:
    """Greenlets that serve one thread after another.

    Args:
        serve: what each of them runs: it switches to the greenlet that it is given, and gets its first thread.
    """

    def __init__(self, serve: Callable[[greenlet.greenlet], None]) -> None:
        self._serve = serve
        self._idle: list[greenlet.greenlet] = []
        self._made_on_the_way: list[greenlet.greenlet] = []

    def fill(self, count: int) -> None:
        """Make greenlets here, where the stack is low, and let go of those that were made deep in some recursion."""
        if self._made_on_the_way:
            self._idle = [made for made in self._idle if made not in self._made_on_the_way]
            self._made_on_the_way.clear()
        while len(self._idle) < count:
            self._idle.append(self._make())

    def take(self) -> greenlet.greenlet:
        """One that is ready to serve."""
        if self._idle:
            return self._idle.pop()
        made = self._make()
        self._made_on_the_way.append(made)
        return made

    def give_back(self, idle: greenlet.greenlet) -> None:
        """What has served comes back."""
        self._idle.append(idle)

    def _make(self) -> greenlet.greenlet:
        """It has as many frames left as whoever makes it."""
        made = greenlet.greenlet(self._serve)
        made.switch(greenlet.getcurrent())
        return made
