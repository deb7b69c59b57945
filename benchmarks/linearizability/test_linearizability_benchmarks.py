import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.linearizability.histories import FAULTS, Workload, simulate
from benchmarks.linearizability.tables import planted
from kcache_model.indexers.just_in_time import judge_history, why_not
from kcache_model.verdict import Status

SCRIPT = Path(__file__).parent / "run.py"


@pytest.mark.nightly
def test_all_tables_are_printed():
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, str(SCRIPT), "--tiny"]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=240)
    assert ended.returncode == 0, ended.stderr
    for title in ("Speed", "Growth", "Memory", "Streamed", "Key by key", "Generic search", "Evidence", "Specified"):
        assert title in ended.stdout


@pytest.mark.parametrize("writes", [0.9, 0.1])
def test_history_without_a_fault_is_linearizable(writes):
    history = simulate(Workload(5_000, writes=writes))
    assert not why_not(history)
    assert len(history.calls) == 5_000
    result = judge_history(history)
    assert (result.status, result.judged) == (Status.OK, 5_000)


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_violation_is_found_where_it_is(fault):
    history = planted(Workload(4_000, writes=0.5, fault=fault))
    result = judge_history(history)
    assert result.status is Status.VIOLATION
    assert result.position is not None
    assert 1_990 < result.position < 2_500
