"""Exit codes, and errors that end in one line."""

from __future__ import annotations

import codecs
import io
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NoReturn

import click

from kcache_conformance.isolation import HarnessError
from kcache_model.errors import CannotExploreError, FormatError, TargetError
from kcache_model.render import printable_line
from kcache_model.suggestion import did_you_mean
from kcache_model.verdict import Status

EXIT_CODES = {Status.OK: 0, Status.VIOLATION: 1, Status.UNKNOWN: 3}
USAGE = 2
BEGAN = "kcache.began"
"""Key in the context of a command: the time when it began, by the monotonic clock."""

INTERRUPTED = 130
TERMINATED = 143
"""The exit code that a shell reports for a process that was ended by SIGTERM."""
CLOSED_PIPE = 141
"""The exit code that a shell reports for a process that was ended by SIGPIPE."""


def exit_code(status: Status, *, is_interrupted: bool = False) -> int:
    """Return the exit code of a run with this verdict."""
    return INTERRUPTED if is_interrupted else EXIT_CODES[status]


def fail(message: str, details: str = "") -> NoReturn:
    """Print an error as one line, with the details of an internal error below it, and exit with code 2."""
    line = " ".join(part.strip() for part in message.splitlines() if part.strip())
    click.echo("\n".join(filter(None, (printable_line(f"kcache: error: {line}"), details))), err=True)
    sys.exit(USAGE)


@contextmanager
def usage_errors() -> Iterator[None]:
    """Print click's errors about the command line in one line, like all other errors."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise  # the help itself
    except click.ClickException as error:
        fail(_usage_text(error))


def _usage_text(error: click.ClickException) -> str:
    """Return click's message with a suggestion, or with a reference to the help."""
    text = error.format_message()
    if isinstance(error, click.BadParameter) and error.param is not None and isinstance(error.param.type, click.Choice):
        wrong = re.match(r"'(.*?)' is not one of", error.message)
        known = map(str, error.param.type.choices)
        text = text.rstrip(".") + did_you_mean(wrong[1] if wrong else "", known)
    context = error.ctx if isinstance(error, click.UsageError) else None
    needs_help = isinstance(error, (click.NoSuchOption, click.MissingParameter)) and "did you mean" not in text.lower()
    if context is not None and needs_help:
        text = f"{text.rstrip('.')}. `{context.command_path} --help` lists the options and arguments"
    return text


@contextmanager
def clear_errors() -> Iterator[None]:
    """Print errors that the user can fix in one line; report other errors as a fault of kcache."""
    try:
        yield
    except (TargetError, FormatError, CannotExploreError) as error:
        fail(str(error))
    except KeyboardInterrupt:
        click.echo("kcache: interrupted before the first result", err=True)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        raise  # nobody reads any more
    except OSError as error:
        fail(f"{error.strerror or error}: {error.filename}" if error.filename else str(error))
    except HarnessError as error:
        fail("this is a fault of kcache, not of your implementation; please report it with the text below", str(error))
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise  # click knows what to say
    except Exception:
        traceback.print_exc()
        fail("this is a fault of kcache, not of your implementation; please report it with the text above")


@contextmanager
def closed_pipe() -> Iterator[None]:
    """Exit without a message if the output pipe is closed; click would exit with 1, which means a violation."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for text that is still in buffers
        sys.exit(CLOSED_PIPE)


def end_in_order() -> None:
    """Let SIGTERM, such as a CI's time limit, raise SystemExit, so that files and child processes are cleaned up."""
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)


def _end(*_: object) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a process that forwards signals often sends two
    sys.exit(TERMINATED)


def open_missing_streams() -> None:
    """Open the null device for output streams that were closed when the process was started (``>&-``).

    If the encoding of a stream lacks the characters of diagrams, they are replaced by ASCII characters.
    """
    codecs.register_error(_PLAINER, _plainer)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors=_PLAINER)


_PLAINER: Final = "kcache.plainer"
_PLAIN: Final = {
    **dict.fromkeys(range(0x2500, 0x2580), "+"),
    **dict.fromkeys(map(ord, "─━═"), "-"),
    **dict.fromkeys(map(ord, "│┃║"), "|"),
    ord("…"): "...",
    ord("→"): "->",
    ord("·"): ".",
}
"""Box-drawing and other non-ASCII characters of the output -> their ASCII replacements."""


def _plainer(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_PLAIN)
    return text.encode("ascii", "backslashreplace").decode("ascii"), error.end
