"""Plain text of what would be printed."""

from __future__ import annotations

import io
from collections.abc import Callable

from rich.console import Console


def captured(show: Callable[[Console], None]) -> str:
    """What ``show`` prints on a console of usual width without colours; begins with an empty line."""
    console = Console(file=io.StringIO(), width=100, color_system=None, highlight=False)
    with console.capture() as capture:
        show(console)
    return "\n" + "\n".join(line.rstrip() for line in capture.get().splitlines())
