"""Processes of the tests, forked from a server where the imports are done: children of the supervisor, and commands.

Hundreds of tests start a process; the imports are most of its time. At night every process is an ordinary one.
"""

from __future__ import annotations

import gc
import multiprocessing
import multiprocessing.forkserver
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from multiprocessing.reduction import DupFd
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, Final
from unittest.mock import patch

import kcache.cli
from kcache_conformance.isolation import child, worker
from kcache_model.call_program import HASH_SEED

_CLI: Final = Path(kcache.cli.__file__).parent
_IMPORTED: Final = (
    __name__,
    "stress.material.compiled_modules",
    *(f"kcache.cli.{file.stem}" for file in _CLI.glob("*.py") if not file.stem.startswith(("_", "test_"))),
    "kcache_conformance.isolation.worker",
    "kcache_conformance.runs.jobs",
    "kcache_conformance.runs.replays",
    "kcache_conformance.indexers.sequential_phases",
    "kcache_conformance.indexers.concurrent_phases",
    "kcache_conformance.verification.explored_examples",
    "kcache_conformance.fuzzing.session",
    "kcache_conformance.fuzzing.search_job",
    "kcache_conformance.fuzzing.replaying",
    "kcache_conformance.classes.call_replay",
    "kcache_conformance.classes.class_type",
    "kcache_conformance.objects.concurrent_phases",
    "kcache_conformance.objects.sequential",
    "kcache_stress.interleaved.script",
    "kcache_stress.objects.object_exploration",
)
_OBJECTS_BETWEEN_COLLECTIONS: Final = 20_000
"""700 by default: collections take a twentieth of the time, as in the tests themselves."""
_COMMAND_SECONDS: Final = 300.0

_server = multiprocessing.get_context("forkserver")
_served: list[int] = []
"""The process that asks the server for children; of what is forked from it, the server is no child."""


def start_server() -> None:
    """Start the server. It hashes texts as children do, or the sets of the modules that it imports have another order.

    All children of this process that need nothing else come from it.
    """
    _server.set_forkserver_preload(list(_IMPORTED))
    with patch.dict(os.environ, {HASH_SEED: "0"}):
        multiprocessing.forkserver.ensure_running()
    serve_children()


def serve_children() -> None:
    """Have the supervisors in this process start their children from the server."""
    _served[:] = [os.getpid()]
    child.subprocess = SimpleNamespace(Popen=_start_child, PIPE=subprocess.PIPE)  # type: ignore[attr-defined]


def serve_no_children() -> None:
    """Undo :func:`serve_children`."""
    child.subprocess = subprocess  # type: ignore[attr-defined]


def run_command(
    folder: Path, command: Sequence[str], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run ``kcache`` or ``pytest`` as if it was typed in a folder. Raises TimeoutExpired after five minutes."""
    with tempfile.TemporaryFile("w+b") as out, tempfile.TemporaryFile("w+b") as errors, open(os.devnull) as nothing:
        streams = nothing.fileno(), out.fileno(), errors.fileno()
        arguments = {"command": list(command), "path": _import_path(), "server": _address()}
        process = _fork(_command, streams, environment, folder, **arguments)
        process.join(_COMMAND_SECONDS)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(list(command), _COMMAND_SECONDS)
        texts = []
        for file in (out, errors):
            file.seek(0)
            texts.append(file.read().decode())
    return subprocess.CompletedProcess(list(command), process.exitcode, *texts)


class WarmChild:
    """A child process as ``subprocess.Popen`` shows it."""

    def __init__(self, command: list[str], *, stderr: IO[str], env: dict[str, str], **_: object) -> None:
        del command
        its_input, own_input = os.pipe()
        own_output, its_output = os.pipe()
        self.stdin = os.fdopen(own_input, "w", encoding="utf-8")
        self.stdout = os.fdopen(own_output, encoding="utf-8")
        self._process = _fork(_child, (its_input, its_output, stderr.fileno()), env, Path.cwd())
        os.close(its_input)
        os.close(its_output)
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code; ``None`` while the process runs."""
        return self._process.exitcode

    def wait(self) -> int | None:
        """Wait for the end of the process, and return its exit code."""
        self._process.join()
        return self._process.exitcode

    def kill(self) -> None:
        """End the process, also while it does not lead a group yet."""
        self._process.kill()

    def send_signal(self, number: int) -> None:
        """Send a signal to the process."""
        os.kill(self._process.pid or 0, number)


def _start_child(command: list[str], **options: Any) -> WarmChild | subprocess.Popen[str]:
    environment = options["env"]
    changed = {name for name, value in environment.items() if value != os.environ.get(name)}
    is_usual = changed <= {HASH_SEED} and environment.get(HASH_SEED) == "0" and _served == [os.getpid()]
    return (WarmChild if is_usual else subprocess.Popen)(command, **options)


def _fork(main: Any, streams: Sequence[int], environment: Mapping[str, str], folder: Path, **given: Any) -> Any:
    own = {"streams": [DupFd(stream) for stream in streams], "environment": dict(environment), "folder": str(folder)}
    process = _server.Process(target=main, kwargs={**own, **given})
    process.start()
    return process


def _become(streams: Sequence[Any], environment: Mapping[str, str], folder: str) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream.detach(), number)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, encoding="utf-8", errors="replace", closefd=False) for number, mode in enumerate("rww")
    )
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)


def _child(**given: Any) -> None:
    _become(**given)
    os.setsid()
    worker.main()


def _command(command: Sequence[str], path: Sequence[str], server: Mapping[str, Any], **given: Any) -> None:
    _become(**given)
    _use_server(server)
    serve_children()
    sys.path[:] = path
    sys.argv[1:] = command[1:]
    runpy.run_module(command[0], run_name="__main__", alter_sys=True)


def _address() -> dict[str, Any]:
    """The attributes by which a process reaches the server."""
    names = ("_forkserver_address", "_forkserver_authkey")  # the second one since Python 3.14
    values = {name: getattr(multiprocessing.forkserver._forkserver, name, None) for name in names}
    return {name: bytes(value) if isinstance(value, bytes) else value for name, value in values.items()}


def _use_server(address: Mapping[str, Any]) -> None:
    """Have children of this process forked from the server. Otherwise, multiprocessing starts a server without modules.

    A process that was forked from the server does not know the server's address.
    """
    own = multiprocessing.forkserver._forkserver
    vars(own).update(address)
    own.ensure_running = lambda: None  # type: ignore[method-assign]


@cache
def _import_path() -> list[str]:
    """The import path of an interpreter without the working directory."""
    asked = [sys.executable, "-P", "-c", "import sys; print(*sys.path, sep='\\n')"]
    return subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()
