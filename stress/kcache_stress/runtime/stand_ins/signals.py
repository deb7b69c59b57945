"""Module ``signal`` of a virtual world: handlers can be set, but none is ever called.

Not supported: delivering signals, alarms and timers, waiting for a signal. If a controlled thread sends a signal or
waits for one, the execution ends.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final, NoReturn

from ...engine.events import READ, WRITE
from ...engine.scheduling import HUB
from ..threads.refusal import refuse
from ..threads.scheduler import Scheduler

NO_SIGNALS: Final = "no signal is delivered to virtual threads"
_USING: Final = (
    *("alarm", "setitimer", "getitimer", "pause", "raise_signal", "pthread_kill", "pthread_sigmask", "sigpending"),
    *("sigwait", "sigwaitinfo", "sigtimedwait", "siginterrupt", "pidfd_send_signal"),
)


def make_signal_module(scheduler: Scheduler) -> ModuleType:
    """Create the stand-in for ``signal``."""
    handlers: dict[int, Any] = {}
    wakeup = [-1]

    def refused(name: str) -> Callable[..., NoReturn]:
        return lambda *_, **__: refuse(scheduler, f"uses signal.{name}: {NO_SIGNALS}", sys._getframe(1))

    def look(number: Any, kind: int) -> None:
        if scheduler.live and not scheduler.aborting:
            scheduler.touch(module, number, kind)

    def set_handler(signalnum: Any, handler: Any) -> Any:
        # If the program is the body of a test, its only thread (0) counts as the main thread, as in production.
        if scheduler.current not in (HUB, 0) or (scheduler.current == 0 and scheduler.program_actors != 1):
            raise ValueError("signal only works in main thread of the main interpreter")
        before = get_handler(signalnum)
        if not callable(handler) and handler not in (signal.SIG_IGN, signal.SIG_DFL):
            raise TypeError("signal handler must be signal.SIG_IGN, signal.SIG_DFL, or a callable object")
        look(signalnum, WRITE)
        handlers[signal.Signals(signalnum)] = handler
        return before

    def get_handler(signalnum: Any) -> Any:
        look(signalnum, READ)
        default = signal.default_int_handler if signalnum == signal.SIGINT else signal.SIG_DFL
        return handlers.get(signal.Signals(signalnum), default)

    def set_wakeup_fd(fd: int, *, warn_on_full_buffer: bool = True) -> int:  # noqa: ARG001
        look("wakeup_fd", WRITE)
        before, wakeup[0] = wakeup[0], fd
        return before

    def start_over() -> None:
        handlers.clear()
        wakeup[0] = -1

    module = ModuleType("signal")
    module.__dict__.update({name: value for name, value in vars(signal).items() if not name.startswith("__")})
    module.__dict__.update({name: refused(name) for name in _USING if hasattr(signal, name)})
    module.__dict__.update(
        signal=set_handler, getsignal=get_handler, set_wakeup_fd=set_wakeup_fd, _start_over=start_over
    )
    return module
