"""The command line. It parses, listens and prints; the work is done by the suite."""

from __future__ import annotations

from typing import Any

import click

import kcache

from .check import check
from .exits import closed_pipe, open_missing_streams
from .explore import explore
from .fuzz import fuzz
from .judge import judge
from .replay import replay
from .stress import stress
from .targets import targets
from .verify import verify

_EPILOG = """
\b
Exit codes:
  0  nothing wrong was found, and everything ran
  1  a violation was found
  2  wrong usage, an unusable target, a fault of kcache itself; for replay: cannot tell any more
  3  inconclusive: the budget was too small to say, or the explorer could not do its work
  130  interrupted
  141  nobody reads the output any more
"""


class _Commands(click.Group):
    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        open_missing_streams()
        with closed_pipe():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
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


main.add_command(check)
main.add_command(explore)
main.add_command(verify)
main.add_command(stress)
main.add_command(judge)
main.add_command(fuzz)
main.add_command(replay)
main.add_command(targets)
