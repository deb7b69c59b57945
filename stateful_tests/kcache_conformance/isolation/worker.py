"""The child: reads a job from its standard input, runs it, and reports events as JSON lines.

The job is ``{"function": "module:name", "arguments": {...}, "journal": path, "stacks": path, "patience": seconds,
"path": folders}``. The folders become the import path; then the function is called with an :class:`Outlet` and the
arguments. Events go to the original standard output. Output of the implementation goes to standard error.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kcache_model.errors import TargetError
from kcache_model.progress import ProgressListener
from kcache_stress.outside import outside_wait
from kcache_stress.stacks import stacks

from .journal import FileJournal
from .watchdog import Watchdog

LOADING_SECONDS = 60.0
"""The time that the import of a target may take on a busy machine."""

_PR_SET_PDEATHSIG = 1
_OBJECTS_BETWEEN_COLLECTIONS = 20_000
"""700 by default, which takes a tenth of the time of a run. What code under test turns on and off is virtual."""
_LOW_DESCRIPTORS = 10
"""Lower numbers are tried as arguments."""


class Outlet:
    """The reporting interface of a job.

    Attributes:
        watch: receives the operations on the implementation.
    """

    def __init__(self, descriptor: int, journal: Path, patience_seconds: float) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._caller = threading.get_ident()
        self.watch: ProgressListener = Watchdog(FileJournal(journal), patience_seconds, self._hang, self._alive)

    def send(self, event: dict[str, Any]) -> None:
        """Send one event to the parent."""
        with self._lock:
            data = (json.dumps(event) + "\n").encode()
            while data:
                data = data[os.write(self._descriptor, data) :]

    @contextlib.contextmanager
    def loading(self, target: str, seconds: float = LOADING_SECONDS) -> Iterator[None]:
        """Import ``target`` in this context; the process ends with an error if that takes too long."""
        timer = threading.Timer(seconds, self._never_loaded, (target, seconds, threading.get_ident()))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _never_loaded(self, target: str, seconds: float, thread: int) -> None:
        message = (
            f"after {seconds:g} s, {target} is not imported yet, or an object of it not created; if its import works, "
            "or waits, move that into a function\n"
        )
        self.send({"event": "target_error", "message": message + stacks([thread])})
        os._exit(0)

    def _alive(self, seconds: float) -> None:
        self.send({"event": "alive", "seconds": seconds})

    def _hang(self, stacks: str) -> None:
        self.send({"event": "hang", "stacks": stacks, "outside": outside_wait(self._caller)})
        os._exit(0)


def main() -> None:
    """Run the job on standard input, and end the process even if threads are left."""
    _end_with_parent()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    job = json.loads(sys.stdin.read())
    _keep_low_descriptors()
    descriptor = os.dup(1)
    os.dup2(2, 1)
    with open(job["stacks"], "w", encoding="utf-8") as file:
        faulthandler.enable(file)
        if hasattr(faulthandler, "register"):
            faulthandler.register(signal.SIGUSR1, file, all_threads=True)
        outlet = Outlet(descriptor, Path(job["journal"]), job["patience"])
        outlet.send({"event": "ready"})
        try:
            module, _, name = job["function"].partition(":")
            sys.path += job["path"]  # behind: a parent that has loaded a target has the folder of the target in front
            work = getattr(importlib.import_module(module), name)
            sys.path[:] = job["path"]
            work(outlet, **job["arguments"])
            outlet.send({"event": "done"})
        except TargetError as error:
            outlet.send({"event": "target_error", "message": str(error)})
        except BaseException:
            outlet.send({"event": "harness_error", "message": traceback.format_exc()})
    with contextlib.suppress(OSError):  # the target may have closed it
        sys.stderr.flush()
    os._exit(0)


def _keep_low_descriptors() -> None:
    """Occupy the lowest descriptors: a method that opens and then closes the "file" 3 must not close one of ours."""
    while os.open(os.devnull, os.O_RDONLY) < _LOW_DESCRIPTORS:
        pass


def _end_with_parent() -> None:
    """Ask Linux to end this process when its parent is killed: the process may be busy in C and never notice."""
    if sys.platform == "linux":
        with contextlib.suppress(Exception):
            import ctypes

            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
