"""Pool of idle greenlets: creating a greenlet for each virtual thread would take longer than most threads run."""

from __future__ import annotations

from collections.abc import Callable

import greenlet


class GreenletPool:
    """Greenlets that serve one thread after another.

    Args:
        serve: the function that each greenlet runs. It switches to the greenlet that is its argument; the value of this
            switch is the first thread to serve.
    """

    def __init__(self, serve: Callable[[greenlet.greenlet], None]) -> None:
        self._serve = serve
        self._idle: list[greenlet.greenlet] = []
        self._created_by_take: list[greenlet.greenlet] = []

    def fill(self, count: int) -> None:
        """Create greenlets up to ``count``; drop greenlets that :meth:`take` created, maybe deep in a recursion.

        The harness calls this where the stack is low, so that the greenlets have many frames left.
        """
        if self._created_by_take:
            self._idle = [idle for idle in self._idle if idle not in self._created_by_take]
            self._created_by_take.clear()
        while len(self._idle) < count:
            self._idle.append(self._make())

    def take(self) -> greenlet.greenlet:
        """Return a greenlet that is ready to serve; create one if the pool is empty."""
        if self._idle:
            return self._idle.pop()
        created = self._make()
        self._created_by_take.append(created)
        return created

    def give_back(self, idle: greenlet.greenlet) -> None:
        """Put a greenlet back that has served its thread; the next one begins with an empty context, as threads do."""
        idle.gr_context = None
        self._idle.append(idle)

    def _make(self) -> greenlet.greenlet:
        """Create a greenlet. It has as many frames left until the recursion limit as its creator."""
        created = greenlet.greenlet(self._serve)
        created.switch(greenlet.getcurrent())
        return created
