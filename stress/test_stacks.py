"""Frames of the harness, told apart from others by the files of their code."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import kcache
import kcache_conformance
import kcache_model
import kcache_stress
from kcache_stress.stacks import stacks

_PACKAGES = (kcache, kcache_model, kcache_stress, kcache_conformance)

_PROGRAM = """
from pathlib import Path
import kcache, kcache_conformance, kcache_model, kcache_stress
from kcache_stress.stacks import is_harness
for package in (kcache_model, kcache_stress, kcache_conformance):
    file = Path(package.__file__)
    print(is_harness(str(file)), is_harness(str(file.resolve())), is_harness(str(file.parent) + "_of_yours/x.py"))
"""


def test_the_harness_is_known_under_the_names_of_links_to_it(tmp_path):
    folders = list(dict.fromkeys(Path(package.__file__).resolve().parents[1] for package in _PACKAGES))
    root = Path(os.path.commonpath(folders))
    (tmp_path / "link").symlink_to(root, target_is_directory=True)
    path = os.pathsep.join(str(tmp_path / "link" / folder.relative_to(root)) for folder in folders)
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "True True False\n" * 3


def test_threads_at_one_place_are_told_once():
    go = threading.Event()

    def wait():
        assert go.wait(60)

    def work():
        assert go.wait(60)

    threads = [threading.Thread(target=wait, name="waiter") for _ in range(40)]
    threads.append(threading.Thread(target=work, name="worker"))
    for thread in threads:
        thread.start()
    try:
        told = stacks([threads[-1].ident]).splitlines()
    finally:
        go.set()
        for thread in threads:
            thread.join()
    assert told[0] == "worker:"
    assert [line for line in told if line.startswith("waiter")] == ["waiter and 39 more:"]
