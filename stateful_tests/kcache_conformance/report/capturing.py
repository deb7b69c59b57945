"""Captured console output as plain text."""

from __future__ import annotations

import io
from collections.abc import Callable

from rich.console import Console


def captured(show: Callable[[Console], None]) -> str:
    """Return the output of ``show`` on a console of usual width without colours; it begins with an empty line."""
    console = Console(file=io.StringIO(), width=100, color_system=None, highlight=False)
    with console.capture() as capture:
        show(console)
    return "\n" + "\n".join(line.rstrip() for line in capture.get().splitlines())
