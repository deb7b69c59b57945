"""The command line: it parses arguments, receives events and prints; the suite does the work."""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

import click

import kcache
from kcache_model.suggestion import did_you_mean

from .exits import BEGAN, closed_pipe, end_in_order, open_missing_streams, usage_errors

_COMMANDS = {
    "check": "Check a class, a cache or a test for races, deadlocks and wrong results.",
    "explore": "Run small concurrent programs on TARGET in every interleaving.",
    "fuzz": "Look for an object for which FUNCTION, an index or key function, breaks its contract.",
    "init": "Write an adapter, a test and the configuration for CLASS.",
    "judge": "Judge FILE, a history that was recorded elsewhere, in any language.",
    "replay": "Run a finding again, from the token at the end of its report.",
    "report": "Sum up the JSON files of other commands on one page.",
    "rules": "List the rules that findings name.",
    "run": "Run a test suite as it is: kcache run pytest -- ARGUMENTS of pytest.",
    "stress": "Run TARGET with real threads, and judge the results of their calls.",
    "targets": "List the shipped examples, faulty and correct ones.",
    "verify": "Explore every small program on TARGET in every interleaving, and print a certificate.",
}
"""Name -> its line in the list of commands, so that the list needs no import of a command."""

_EPILOG = """
\b
Exit codes:
  0  no violation was found, and everything ran; for report: the summary was written
  1  a violation was found
  2  wrong usage, an unusable target, a fault of kcache itself
  3  inconclusive: the budget was too small, the explorer could not do its work, or a replay has no answer any more
  130  interrupted; the results up to then are shown and written
  141  the reader of the output has gone
  143  ended by SIGTERM
"""


class _Commands(click.Group):
    """The commands. Each command is in the module of its name, which is imported when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(_COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(import_module(f".{cmd_name}", __package__), cmd_name)
        return command

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        open_missing_streams()
        end_in_order()
        with closed_pipe(), usage_errors():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        ctx.meta[BEGAN] = time.monotonic()
        with closed_pipe(), usage_errors():
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            suggestion = did_you_mean(args[0], _COMMANDS) or f"; known are {', '.join(_COMMANDS)}"
            raise click.UsageError(f"No such command '{args[0]}'{suggestion}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Commands, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(kcache.__version__, prog_name="kcache")
def main() -> None:
    """Check code that threads share, under every interleaving: your class, your test, your cache.

    A TARGET is package.module:NAME or path/to/file.py:NAME. NAME is a class, with arguments if it needs some, as in
    'cachetools:LRUCache(2)'; or a test that starts threads (explore, replay); or a factory(key_func, indexers) that
    returns a new, empty Indexer, a thread-safe cache with indices, which is held against the model of client-go's.
    """
