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


def start(errors: IO[str], folder: str, changes: Mapping[str, str]) -> subprocess.Popen[str]:
    """Start a child that does one job.

    Args:
        errors: takes its error output.
        folder: may be written to.
        changes: variables of the child that are not those of this process.
    """
    # -P keeps the working directory off the import path while the harness is loaded: a queue.py that lies there must
    # not take the place of the standard library's.
    command = [sys.executable, "-P", "-m", f"{__package__}.worker"]
    # Where nobody wants to keep what Hypothesis learns of sources and of Unicode, the working directory stays clean.
    environment = {"HYPOTHESIS_STORAGE_DIRECTORY": folder, **os.environ}
    environment |= {"PYTHONPATH": os.pathsep.join(_import_path()), **changes}
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        encoding="utf-8",
        env=environment,
        start_new_session=True,
    )


def _import_path() -> list[str]:
    """Where this process finds the harness, then the rest of its import path but for the working directory."""
    packages = (kcache, kcache_model, sys.modules[__name__.partition(".")[0]])
    roots = [str(Path(package.__file__ or "").resolve().parents[1]) for package in packages]
    return list(dict.fromkeys([*roots, *(path for path in sys.path if path and path != os.getcwd())]))


def kill(child: subprocess.Popen[str]) -> None:
    """End the child and whatever it has started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    elif child.poll() is None:
        child.kill()
    child.wait()
