"""Pictures of the README, made again: a report in a terminal, and the page that ``--html`` writes.

    python docs/pictures/make.py

needs chromium or google-chrome for the page.
"""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).resolve().parent
README = HERE.parents[1] / "README.md"
COLUMNS = 100
_COMMAND = "kcache check -x seats.py:Seats"
_CONTROL = re.compile(r"\x1b\[\d*[AK]|\r")
_PROGRESS_ENDS = "\x1b[?25h"
_TERMINAL = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">
{matrix}
</g></g></svg>
"""
"""As rich draws one, but for the fonts, which it would fetch."""


def main() -> None:
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        sys.exit("install chromium first: the page is drawn by a browser")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (sample,) = re.findall(
            r"^```python\n# seats\.py\n(.*?)^```", README.read_text("utf-8"), re.DOTALL | re.MULTILINE
        )
        (folder / "seats.py").write_text(f"\n{sample}", encoding="utf-8")
        report = run(folder, *_COMMAND.split(), "--html", "page.html")
        shown = _CONTROL.sub("", report.rpartition(_PROGRESS_ENDS)[2]).strip()
        (HERE / "report.svg").write_text(drawn(f"$ {_COMMAND}\n\n{shown}"), encoding="utf-8")
        shoot(browser, folder / "page.html", HERE / "page.png")


def run(folder: Path, *command: str) -> str:
    """What a command of this environment shows in a terminal."""
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    program = [str(Path(sys.executable).parent / command[0]), *command[1:]]
    ours, its = pty.openpty()
    child = subprocess.Popen(program, cwd=folder, env=environment, stdout=its, stderr=its, stdin=subprocess.DEVNULL)
    os.close(its)
    shown = b""
    with contextlib.suppress(OSError):  # what reading says when the other end is closed
        while some := os.read(ours, 65536):
            shown += some
    child.wait()
    return shown.decode().replace("\r\n", "\n")


def drawn(shown: str) -> str:
    """A terminal that shows this, as SVG."""
    console = Console(width=COLUMNS, record=True, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(shown))
    return console.export_svg(title="kcache", code_format=_TERMINAL, unique_id="kcache")


def shoot(browser: str, page: Path, picture: Path) -> None:
    """What a browser shows of a page."""
    with tempfile.TemporaryDirectory() as profile:
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--disable-background-networking",
        ]
        target = [f"--user-data-dir={profile}", "--window-size=1100,800", f"--screenshot={picture}", page.as_uri()]
        subprocess.run([browser, *options, *target], check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    main()
