"""Child processes: their start and their end."""

from __future__ import annotations

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
        errors: receives its error output.
        folder: a folder for its files.
        changes: environment variables that differ from this process.
    """
    # -P keeps the working directory off the import path while the harness is loaded: a queue.py there must not
    # replace the module of the standard library.
    folders = [f"{package}={folder}" for package, folder in _harness().items()]
    command = [sys.executable, "-P", str(_BOOT), *folders]
    # Unless the user sets a folder, Hypothesis stores data about sources and Unicode in the child's scratch folder.
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
    """Return the import path of this process in its order, for the child to use while the harness is loaded.

    Left out are the folder that Python puts first because of how this process was started (the working directory, or
    the folder of an installed command) and the folders of targets that were loaded here. If ``PYTHONPATH`` names such a
    folder, the folder stays at its position there.
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
    """End the child and the processes of its process group."""
    if hasattr(os, "killpg"):
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            child.kill()  # it does not lead its group yet, or has ended
    elif child.poll() is None:
        child.kill()
    child.wait()
