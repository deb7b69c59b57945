"""``kcache run pytest`` where a package, a ``conftest.py`` and a test module can be loaded once only in a process."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

FILES = {
    "table.py": """
        NAMES = {}

        def enter(name):
            if name in NAMES:
                raise ValueError(f"{name} is there")
            NAMES[name] = True
        """,
    "once.py": """
        import builtins
        import json
        import sys

        import table

        table.enter("once")
        sys.tables_of_once = getattr(sys, "tables_of_once", [])
        for owner in (builtins, json.JSONEncoder):
            if hasattr(owner, "is_once_loaded") or sys.tables_of_once:
                raise RuntimeError("once is loaded")
            owner.is_once_loaded = True
        sys.tables_of_once.append("once")

        class Counter:
            def __init__(self):
                self.n = 0

            def add(self):
                n = self.n
                self.n = n + 1
        """,
    "conftest.py": """
        import sys

        import once
        import pytest

        assert not hasattr(sys, "conftest_of_once")
        sys.conftest_of_once = True

        @pytest.fixture
        def counter():
            return once.Counter()
        """,
    "test_once.py": """
        import builtins
        import threading

        assert not hasattr(builtins, "test_of_once")
        builtins.test_of_once = True

        def two(work):
            threads = [threading.Thread(target=work) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        def test_racy(counter):
            two(counter.add)
            assert counter.n == 2

        def test_locked(counter):
            lock = threading.Lock()

            def add():
                with lock:
                    counter.add()

            two(add)
            assert counter.n == 2
        """,
}


def test_they_are_explored_as_if_the_process_were_fresh(
    tmp_path: Path, run_command: Callable[..., CompletedProcess[str]]
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(textwrap.dedent(text), encoding="utf-8")
    done = run_command(tmp_path, "kcache", "run", "pytest", "--", "-v", "-p", "no:cacheprovider")
    assert done.returncode == 1
    assert re.search(r"^fails in some order: test_once.py::test_racy: .*n = 1", done.stdout, re.MULTILINE)
    assert "confirmed on CPython" in done.stdout
    assert re.search(r"^explored: test_once.py::test_locked: .*exhausted", done.stdout, re.MULTILINE)
    token = re.findall(r"kcache replay (\S+)", done.stdout)[-1]
    again = run_command(tmp_path, "kcache", "replay", token)
    assert again.returncode == 1, again.stdout
    assert "REPRODUCED" in again.stdout
