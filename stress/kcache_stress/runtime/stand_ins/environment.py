"""Environment of executions: repeatable randomness and unique ids, and functions that start other processes.

The values are equal in each execution: the value that a thread gets depends only on the thread and on its earlier
calls, not on the order of threads. During an execution the functions of the real modules are replaced, so that modules
of the standard library use the replacements, too. Between executions nothing is replaced.

Not controlled: the process id, which only differs from one process to the next, and addresses (`id()`, and the order of
a set of objects that are hashed by address).
"""

from __future__ import annotations

import gc
import os
import random
import sys
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType
from typing import Any, Final

from ...engine.events import READ, WRITE
from ...engine.scheduling import HUB
from ..tasks.loops import EventLoops
from ..threads.library import Replaced
from ..threads.refusal import refuse, where
from ..threads.scheduler import Scheduler
from .network import Network
from .pipes import pipe_functions
from .process_settings import ProcessSettings
from .signals import NO_SIGNALS

_DOUBLING: Final = ("fork", "forkpty")
_SIGNALLING: Final = ("kill", "killpg")
_STARTING: Final = ("posix_spawn", "posix_spawnp", "system")
_NANOSECONDS_100: Final = 0x1EE83A5_0000_0000
"""A time in the format of :func:`uuid.uuid1`: 100-nanosecond intervals since 1582-10-15."""


class Environment(Replaced):
    """Context of one execution, in which functions of the process are replaced.

    Args:
        scheduler: runs the threads of the execution.
        network: contains the pipes that they create.
        settings: the settings of the process with which each execution begins.
        private: returns the module of the execution with this name.

    Attributes:
        loops: the event loops of the execution.
    """

    __slots__ = ("_generators", "_issued", "_scheduler", "_settings", "loops")

    def __init__(
        self,
        scheduler: Scheduler,
        network: Network,
        settings: ProcessSettings,
        private: Callable[[str], ModuleType],
    ) -> None:
        self._scheduler = scheduler
        self._settings = settings
        self.loops = EventLoops(scheduler, private)
        self._generators: dict[int, random.Random] = {}
        self._issued: dict[int, int] = {}
        super().__init__(
            (os, "urandom", self.urandom),
            (os, "getrandom", lambda size, flags=0: self.urandom(size)),  # noqa: ARG005
            (random, "_urandom", self.urandom),
            (uuid, "_generate_time_safe", self._time_based),
            (sys, "getswitchinterval", self._setting("switch_interval", READ, partial(getattr, settings))),
            (sys, "setswitchinterval", self._setting("switch_interval", WRITE, self._set_interval)),
            (gc, "isenabled", self._setting("collects", READ, partial(getattr, settings))),
            (gc, "enable", self._setting("collects", WRITE, lambda name: setattr(settings, name, True))),
            (gc, "disable", self._setting("collects", WRITE, lambda name: setattr(settings, name, False))),
            *((os, name, function) for name, function in pipe_functions(network).items()),
            *((os, name, self._for_the_harness(f"os.{name}", getattr(os, name, None))) for name in _DOUBLING),
            *((os, name, self._doubted(getattr(os, name, None))) for name in _STARTING),
            *((os, name, self._signalling(f"os.{name}", getattr(os, name, None))) for name in _SIGNALLING),
            (os, "times", lambda: self._times(private("time").monotonic())),
            *self._starting_programs(),
        )

    def _starting_programs(self) -> Iterator[tuple[ModuleType, str, object]]:
        """Yield the replacement of the function in C that all of `subprocess` calls, if `subprocess` is imported."""
        module = sys.modules.get("subprocess")
        if module is not None and hasattr(module, "_fork_exec"):
            yield module, "_fork_exec", self._doubted(module._fork_exec)

    def __enter__(self) -> None:
        super().__enter__()
        self.loops.__enter__()

    def __exit__(self, *_: object) -> None:
        self.loops.__exit__()
        super().__exit__()

    def start_over(self) -> None:
        """Restore the settings that an execution has changed, and restart the random numbers and ids."""
        self._settings.restore()
        self.loops.start_over()
        self._generators.clear()
        self._issued.clear()

    def urandom(self, size: int) -> bytes:
        """Return ``size`` bytes in place of ``os.urandom``: a repeatable sequence for each thread."""
        thread = self._scheduler.current
        if thread not in self._generators:
            self._generators[thread] = random.Random(f"kcache {thread}")
        return self._generators[thread].randbytes(size)

    def _time_based(self) -> tuple[bytes, int]:
        """Return the bytes for :func:`uuid.uuid1`: the time grows with each call; each thread has its own node."""
        thread = self._scheduler.current
        issued = self._issued[thread] = self._issued.get(thread, 0) + 1
        stamp = _NANOSECONDS_100 + issued
        fields = (
            stamp & 0xFFFFFFFF,
            stamp >> 32 & 0xFFFF,
            stamp >> 48 & 0x0FFF | 0x1000,
            0x80,
            0,
            0x020000000000 + thread + 1,
        )
        return uuid.UUID(fields=fields).bytes, 0

    def _for_the_harness(self, name: str, real: Any) -> Callable[..., Any]:
        def guarded(*args: Any, **kwargs: Any) -> Any:
            if self._scheduler.current != HUB:
                refuse(self._scheduler, f"uses {name}: other processes cannot be scheduled", sys._getframe(1))
            return real(*args, **kwargs)

        return guarded

    def _signalling(self, name: str, real: Any) -> Callable[..., Any]:
        def sent(to: int, number: int) -> Any:
            if number and to in (0, os.getpid(), os.getpgid(0)):
                refuse(self._scheduler, f"uses {name} for its own process: {NO_SIGNALS}", sys._getframe(1))
            return real(to, number)

        return sent

    @staticmethod
    def _times(seconds: float) -> os.times_result:
        """Return virtual seconds in place of ``os.times``: all is time of the process, as for ``process_time``."""
        return os.times_result((seconds, 0.0, 0.0, 0.0, seconds))

    def _setting(self, name: str, kind: int, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that reads or writes a setting: an access, as of an attribute that threads share.

        Args:
            name: of the attribute of the settings.
            kind: READ or WRITE.
            function: takes the name, and then the arguments.
        """

        def call(*args: Any) -> Any:
            if self._scheduler.tracer is None:  # at opcodes, the call is a place already
                self._scheduler.access(self._settings, name, kind)
            return function(name, *args)

        return call

    def _set_interval(self, _: str, interval: float) -> None:
        self._settings.setswitchinterval(interval)

    def _doubted(self, real: Any) -> Callable[..., Any]:
        def started(*args: Any, **kwargs: Any) -> Any:
            if self._scheduler.live:
                why = "starts another process, which the explorer cannot see"
                self._scheduler.proof_obstacles[f"{where(sys._getframe(1))}: {why}"] = None
            return real(*args, **kwargs)

        return started
