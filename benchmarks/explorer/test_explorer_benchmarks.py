import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.explorer.ours import Explorer, dpor
from benchmarks.explorer.programs import CONTROLS, SIMPLE, SMALL_BUGS, bug, reverse
from kcache_stress.engine.search import SearchLimits

SCRIPT = Path(__file__).parent / "run.py"


def run(*arguments: str) -> str:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, str(SCRIPT), *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=240)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.nightly
def test_all_tables_are_printed():
    printed = run("--tiny")
    for title in ("Speed", "Exhaustion", "Detection", "Gallery", "Correct designs", "kcache verify"):
        assert f"{title}" in printed
    assert "all 2" in printed


def test_the_profile_is_printed():
    printed = run("--tiny", "--profile")
    for group in ("instrumented code", "scheduler", "happens-before", "judge", "set-up and final reads"):
        assert group in printed


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", SMALL_BUGS)
def test_each_small_bug_can_be_seen_whichever_thread_comes_first(name):
    explorer = Explorer(bug(name))
    for program in (SMALL_BUGS[name], reverse(SMALL_BUGS[name])):
        assert explorer.search(program, dpor, SearchLimits(300)).found


def test_nothing_is_found_in_the_simple_store():
    explorer = Explorer(SIMPLE)
    for program in CONTROLS:
        ran = explorer.search(program, dpor, SearchLimits(300))
        assert (ran.found, ran.claim) == ("", "exhausted")
