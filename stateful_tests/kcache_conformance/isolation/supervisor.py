"""The parent of a child process: starts it, receives its events, and ends it if it stops responding."""

from __future__ import annotations

import contextlib
import json
import queue
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from kcache_model.call_program import HASH_SEED
from kcache_model.errors import TargetError
from kcache_stress.interruption import Interrupted, is_interrupted, scratch_folder

from .journal import read_journal

if TYPE_CHECKING:
    import subprocess

Event = dict[str, Any]

STARTUP_SECONDS = 30.0
"""The time that a child process may take to start on a busy machine: part of each deadline."""


_GRACE_SECONDS = 30.0
_POLL_SECONDS = 0.2
_STDERR_CHARACTERS = 2000


@dataclass(frozen=True)
class JobEnd:
    """The end of a child process.

    Attributes:
        how: ``"done"``, ``"over"`` (``is_over`` ended it), ``"hang"``, ``"crash"``,
            ``"target_error"`` or ``"harness_error"``.
        message: the stacks, the end of its error output, or the error.
        note: the operation during which the implementation hung or crashed, as the job described it.
        outside: the wait for the outside world that the process was in when it hung; empty if there was none.
    """

    how: str
    message: str = ""
    note: str = ""
    outside: str = ""


class HarnessError(Exception):
    """The harness itself failed; this proves nothing about the implementation."""


def raise_if_failed(end: JobEnd) -> None:
    """Raise the error that kept a job from judging its target; a hang or a crash is a judgement.

    Raises:
        TargetError: the target cannot be loaded, or is not a target.
        HarnessError: the harness failed.
    """
    __tracebackhide__ = True  # pytest shows the exception at the caller
    match end.how:
        case "target_error":
            raise TargetError(end.message)
        case "harness_error":
            raise HarnessError(end.message)


def run_job(
    function: str,
    arguments: Mapping[str, Any],
    *,
    on_event: Callable[[Event], None],
    deadline_seconds: float,
    patience_seconds: float,
    hash_seed: int = 0,
    environment: Mapping[str, str] | None = None,
    grace_seconds: float = _GRACE_SECONDS,
    is_over: Callable[[float], bool] | None = None,
) -> JobEnd:
    """Run a function in a child process and pass its events on. Never waits much longer than the deadline.

    Args:
        function: ``"module:name"``; see :mod:`.worker`.
        arguments: its arguments, plain JSON.
        on_event: called with each event except the last.
        deadline_seconds: when the function should have ended; ``grace_seconds`` are added.
        patience_seconds: how long one call of the implementation may take.
        hash_seed: the hash seed of the child, so that another child behaves in the same way.
        environment: environment variables of the child that differ from this process.
        grace_seconds: how long the child may be silent beyond its deadline, or after its last event, before it counts
            as frozen: C code may hold the interpreter.
        is_over: called several times a second with the seconds for which the child could run; these do not pass while
            other processes use the processors. Once it returns true, the child is ended, and its events count. With
            ``is_over``, the deadline counts from the last event: a child that makes progress is not ended.

    Raises:
        Interrupted: the user has stopped the run; the events of the child were passed on.
    """
    from .child import import_path, kill, start

    with scratch_folder() as folder:
        journal, stacks = Path(folder, "journal"), Path(folder, "stacks")
        stacks.touch()
        job = {
            "function": function,
            "arguments": dict(arguments),
            "journal": str(journal),
            "stacks": str(stacks),
            "patience": patience_seconds,
            "path": import_path(),
        }
        with open(Path(folder, "stderr"), "w+", encoding="utf-8", errors="replace") as errors:
            child = start(errors, folder, {HASH_SEED: str(hash_seed), **(environment or {})})
            try:
                end = _listen(child, job, on_event, deadline_seconds + grace_seconds, grace_seconds, is_over)
                if end is None:
                    end = _frozen(child, stacks)
            finally:
                kill(child)
            if end.how in ("crash", "harness_error") and not end.message:
                end = JobEnd(end.how, _crash_text(child.returncode, stacks, errors))
        if end.how in ("hang", "crash"):
            return replace(end, note=read_journal(journal))
        return end


def _listen(
    child: subprocess.Popen[str],
    job: Event,
    on_event: Callable[[Event], None],
    most_seconds: float,
    grace_seconds: float,
    is_over: Callable[[float], bool] | None,
) -> JobEnd | None:
    """Pass events on until the child ends; return ``None`` if it froze."""
    assert child.stdin is not None
    assert child.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        child.stdin.write(json.dumps(job))
        child.stdin.close()
    lines: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=_read, args=(child.stdout, lines), name="kcache reader", daemon=True).start()
    elapsed = silence = lived = 0.0
    before = time.monotonic()
    ready = False
    while True:
        try:
            line = lines.get(timeout=0.0 if is_interrupted() else _POLL_SECONDS)
        except queue.Empty:
            if is_interrupted():
                raise Interrupted from None
            line = ""
        # A pause of the whole machine, or of both processes, does not count as silence of the child.
        now = time.monotonic()
        step, before = min(now - before, 2 * _POLL_SECONDS), now
        elapsed += step
        if is_over is not None and is_over(lived):
            return JobEnd("over")
        if line == "":
            silence += step
            if elapsed > most_seconds or silence > grace_seconds:
                return None
            continue
        silence = 0.0
        if line is None:
            child.wait()
            return JobEnd("crash" if ready else "harness_error")
        event = json.loads(line)
        match event["event"]:
            case "ready":
                ready = True
                continue
            case "alive":
                lived = event["seconds"]
                continue
            case "done":
                return JobEnd("done")
            case "hang":
                return JobEnd("hang", event["stacks"], outside=event.get("outside", ""))
            case "target_error" | "harness_error" as how:
                return JobEnd(how, event["message"])
        if is_over is not None:
            elapsed = 0.0
        on_event(event)


def _read(stream: IO[str], lines: queue.Queue[str | None]) -> None:
    with contextlib.suppress(ValueError), stream:
        for line in stream:
            lines.put(line)
    lines.put(None)


def _frozen(child: subprocess.Popen[str], stacks: Path) -> JobEnd:
    """Get the stacks at the C level, because the child does not even run its own watchdog."""
    if hasattr(signal, "SIGUSR1"):
        with contextlib.suppress(ProcessLookupError):
            child.send_signal(signal.SIGUSR1)
        time.sleep(0.5)
    return JobEnd("hang", "the whole process is frozen\n" + stacks.read_text(encoding="utf-8"))


def _crash_text(code: int | None, stacks: Path, errors: IO[str]) -> str:
    how = f"exit status {code}"
    if code is not None and code < 0:
        how = f"signal {-code} ({signal.Signals(-code).name})"
    errors.seek(0)
    text = errors.read()[-_STDERR_CHARACTERS:]
    return f"the process ended with {how}\n{stacks.read_text(encoding='utf-8')}{text}".rstrip()
