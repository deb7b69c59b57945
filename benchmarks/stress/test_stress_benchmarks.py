import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "run.py"


@pytest.mark.nightly
def test_both_tables_are_printed():
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, str(SCRIPT), "--seconds", "1", "--minutes", "0.05", "--most", "2"]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=240)
    assert ended.returncode == 0, ended.stderr
    assert "Concurrent faults, 1 s each" in ended.stdout
    assert "Correct designs" in ended.stdout
    assert "the reference" in ended.stdout
