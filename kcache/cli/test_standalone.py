"""Findings about event loops as tests that need no kcache: ``kcache replay WORD --standalone FILE``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kcache.cli.test_issue import folder, kcache, sections, word_of

__all__ = ["folder"]

BODY = """
import asyncio
import threading
from kcache import testing as kt

IS_REPAIRED = False

async def test_order():
    seen = []
    async def note(number):
        await kt.io()
        seen.append(number)
    await asyncio.gather(note(1), note(2))
    assert IS_REPAIRED or seen == [1, 2]

def test_threads():
    seen = []
    kt.run(lambda: seen.append(1), lambda: seen.append(2))
    assert seen == [1, 2]
"""
WITHOUT_KCACHE = "import sys; sys.modules['kcache'] = None; import pytest; sys.exit(pytest.main(sys.argv[1:]))"


def run_without_kcache(file: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_KCACHE, "-q", "-p", "no:cacheprovider", str(file)]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # an installed kcache is a plugin
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=60, cwd=file.parent, env=environment
    )


@pytest.mark.parametrize("place", ["test_alone.py", "elsewhere/test_alone.py"])
def test_it_fails_without_kcache_until_the_fault_is_repaired(place: str, folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    (folder / "test_bodies.py").write_text(BODY, encoding="utf-8")
    word = word_of("explore", "test_bodies.py:test_order")
    file = folder / place
    done = kcache("replay", word, "--standalone", str(file))
    assert (done.exit_code, done.stdout) == (0, f"wrote {file}\n"), done.output
    assert str(folder) not in file.read_text(encoding="utf-8")
    broken = run_without_kcache(file)
    assert (broken.returncode, "1 failed" in broken.stdout) == (1, True), broken.stderr
    (folder / "test_bodies.py").write_text(BODY.replace("IS_REPAIRED = False", "IS_REPAIRED = True"), encoding="utf-8")
    repaired = run_without_kcache(file)
    assert (repaired.returncode, "1 passed" in repaired.stdout) == (0, True), repaired.stdout + repaired.stderr


def test_an_issue_contains_it(folder: Path) -> None:
    (folder / "test_bodies.py").write_text(BODY, encoding="utf-8")
    told = sections(kcache("replay", word_of("explore", "test_bodies.py:test_order"), "--issue", "-").stdout)
    assert "class ForcedLoop(asyncio.SelectorEventLoop):" in told["To see it without kcache"]


def test_a_finding_about_threads_has_none(folder: Path) -> None:
    (folder / "test_bodies.py").write_text(BODY, encoding="utf-8")
    word = word_of("explore", "test_bodies.py:test_threads")
    done = kcache("replay", word, "--standalone", "test_alone.py")
    assert done.exit_code == 2
    assert "no test without kcache shows this finding" in done.output
    assert not (folder / "test_alone.py").exists()
    assert "To see it without kcache" not in sections(kcache("replay", word, "--issue", "-").stdout)
