"""The command line. It parses, listens and prints; the work is done by the suite."""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

import click

import kcache

from .exits import BEGAN, closed_pipe, end_in_order, open_missing_streams

_COMMANDS = (
    "check",
    "explore",
    "verify",
    "stress",
    "judge",
    "fuzz",
    "init",
    "replay",
    "report",
    "rules",
    "run",
    "targets",
)

_EPILOG = """
\b
Exit codes:
  0  nothing wrong was found, and everything ran; for report: it was written
  1  a violation was found
  2  wrong usage, an unusable target, a fault of kcache itself
  3  inconclusive: the budget was too small to say, the explorer could not do its work, or a replay cannot tell any more
  130  interrupted; what was done by then is shown and written
  141  nobody reads the output any more
  143  ended by SIGTERM
"""


class _Commands(click.Group):
    """The commands, each in the module of its name, which is imported when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(import_module(f".{cmd_name}", __package__), cmd_name)
        return command

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        open_missing_streams()
        end_in_order()
        with closed_pipe():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        ctx.meta[BEGAN] = time.monotonic()
        with closed_pipe():
            return super().invoke(ctx)


@click.group(
    cls=_Commands, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(kcache.__version__, prog_name="kcache")
def main() -> None:
    """Hold a thread-safe, indexed object cache against the model: is it right, under every interleaving?

    A TARGET is package.module:factory or path/to/file.py:factory, where factory(key_func, indexers) returns a new,
    empty Indexer.
    """
