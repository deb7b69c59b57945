"""A child process: how it is started, and ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import kcache
import kcache_model
import kcache_stress
from kcache_stress.loading import ADDED_TO_PATH

_BOOT = Path(__file__).with_name("boot.py")


def start(errors: IO[str], folder: str, changes: Mapping[str, str]) -> subprocess.Popen[str]:
    """Start a child that does one job.

    Args:
        errors: takes its error output.
        folder: may be written to.
        changes: variables of the child that are not those of this process.
    """
    # -P keeps the working directory off the import path while the harness is loaded: a queue.py that lies there must
    # not take the place of the standard library's.
    folders = [f"{package}={folder}" for package, folder in _harness().items()]
    command = [sys.executable, "-P", str(_BOOT), *folders]
    # Where nobody wants to keep what Hypothesis learns of sources and of Unicode, the working directory stays clean.
    environment = {"HYPOTHESIS_STORAGE_DIRECTORY": folder, **os.environ, **changes}
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        encoding="utf-8",
        env=environment,
        start_new_session=True,
    )


def import_path() -> list[str]:
    """Return the import path of this process in its order, as a child is to have it while the harness is loaded.

    The folder that Python puts first because of how this process was started is missing: the working directory, or the
    folder of an installed command. So are the folders of targets that were loaded here. ``PYTHONPATH`` may name such a
    folder, too; then it stays where that puts it.
    """
    variable = "" if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "")
    named = {os.path.abspath(entry) for entry in variable.split(os.pathsep)} if variable else set()
    command = "" if sys.argv[0].endswith(".py") else os.path.dirname(os.path.realpath(sys.argv[0]))
    left_out = {os.getcwd(), command, *ADDED_TO_PATH}
    path = [
        entry
        for position, entry in enumerate(sys.path)
        if entry and (entry not in left_out or (entry in named and entry not in sys.path[position + 1 :]))
    ]
    return list(dict.fromkeys([*path, *_harness().values()]))


def _harness() -> dict[str, str]:
    """Return the folder in which this process found each package of the harness."""
    packages = (kcache, kcache_model, kcache_stress, sys.modules[__name__.partition(".")[0]])
    return {package.__name__: str(Path(package.__file__ or "").resolve().parents[1]) for package in packages}


def kill(child: subprocess.Popen[str]) -> None:
    """End the child and whatever it has started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    elif child.poll() is None:
        child.kill()
    child.wait()
