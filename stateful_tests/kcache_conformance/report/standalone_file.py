"""Tests without kcache as files: whether they show the finding, and where they find the test that they call.

The source is that of :mod:`kcache_stress.interleaved.standalone`. A file that passes would mislead, so it is tried
first.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from kcache_model.finding import ENDLESS, Finding
from kcache_stress.interleaved.texts import WAITS_FOR_EVER

_FOLDER: Final = re.compile(r"^sys\.path\.insert\(0, '(.*)'\)\n", re.MULTILINE)
_TRYING_SECONDS: Final = 60.0
"""Time limit for pytest: it runs one test once, but may have to load large packages."""


def shows_finding(finding: Finding) -> bool:
    """Whether the test without kcache fails as the finding does: pytest runs it in a process of its own."""
    if not finding.standalone:
        return False
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "test_standalone.py")
        file.write_text(finding.standalone, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", folder, str(file)]
        try:
            ended = subprocess.run(
                command, capture_output=True, text=True, timeout=_TRYING_SECONDS, check=False, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            return False
    return ended.returncode == 1 and (WAITS_FOR_EVER in ended.stdout) == (finding.kind in ENDLESS)


def placed_in(folder: Path, source: str) -> str:
    """Return the source for a file in this folder: the folder of the test that it calls is named from there."""
    line_of_folder = _FOLDER.search(source)
    if line_of_folder is None:
        return source
    way = os.path.relpath(line_of_folder[1], folder)
    if way == os.curdir:  # pytest looks there
        return _FOLDER.sub("", source)
    line = f"sys.path.insert(0, os.path.join(os.path.dirname(__file__), {way!r}))\n"
    return _FOLDER.sub(lambda _: line, source).replace("import asyncio\n", "import asyncio\nimport os\n", 1)
