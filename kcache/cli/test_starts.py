"""Imports of ``kcache check``: what its process may not load before the first phase starts, nor its child."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

RICHER = {"hypothesis", "jinja2", "xml.etree", "kcache_conformance.fuzzing"}
"""Needed by a later phase, by a file that is written, or by nobody."""
EXPLORER = {"kcache_stress.modules.sandbox", "kcache_stress.target.explore", "kcache_stress.indexers.rounds"}

_PARENT = """
import sys
from kcache.cli import main
from kcache_conformance.runs import suite

def listening(target, options, known, log, is_over):
    print(*sys.modules)
    sys.stdout.flush()
    raise SystemExit

suite.run_phases_in_child = listening
main()
"""
_TARGET = """
import sys
from pathlib import Path
from kcache import new_indexer as new

def new_indexer(key_func, indexers):
    Path(__file__).with_name("loaded").write_text(" ".join(sys.modules))
    return new(key_func, indexers)
"""


def run(*arguments: str, folder: Path) -> str:
    command = [sys.executable, "-P", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("kind", ["indexer", "fifo", "informer"])
def test_the_parent_imports_little_before_the_first_phase_starts(kind: str, tmp_path: Path) -> None:
    asked = ("check", "--reference", "--type", kind, "--no-saved")
    loaded = {*run("-c", _PARENT, *asked, folder=tmp_path).split()}
    assert "kcache_conformance.runs.jobs" in loaded
    assert not loaded & (RICHER | EXPLORER)


@pytest.mark.parametrize("phase", ["smoke", "recorded", "stress"])
def test_a_child_imports_the_explorer_for_phases_with_threads_alone(phase: str, tmp_path: Path) -> None:
    (tmp_path / "target.py").write_text(_TARGET)
    asked = ("target.py:new_indexer", "--only", phase, "--budget", "50ms", "--no-saved")
    quiet = "from kcache.cli import eta, main; eta.FIRST_LINE_SECONDS = 3600.0; main()"  # however slow the machine is
    run("-c", quiet, "check", *asked, folder=tmp_path)
    loaded = {*(tmp_path / "loaded").read_text().split()}
    assert "kcache_conformance.objects.sequential" in loaded
    assert "hypothesis" not in loaded
    if phase == "stress":
        assert loaded >= {"kcache_stress.indexers.rounds"}
    else:
        assert not loaded & (RICHER | EXPLORER | {"subprocess", "rich", "click"})
