"""A cluster as the executor: the same work, the same answers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kcache_conformance.targets.gallery import gallery

pytest.importorskip("distributed")

SCRIPT = """
from distributed import Client, LocalCluster
from kcache_conformance.verification.batch import Batch
from kcache_stress.target.explore import ExploreOptions
from kcache_conformance.verification.spread import spread

if __name__ == "__main__":
    batches = [Batch({target!r}, ExploreOptions(executions=200), seeds=(seed, 4)) for seed in (0, 4, 8)]
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        host="127.0.0.1",
        local_directory="scratch",
    ) as cluster, Client(cluster) as client:
        there, complete = spread(iter(batches), jobs=2, executor=client.get_executor())
    here, _ = spread(iter(batches), jobs=2)
    assert complete, there
    assert (there.programs, there.executions, there.exhausted) == (here.programs, here.executions, here.exhausted)
    print(f"same: {{there.programs}} programs")
"""


@pytest.mark.nightly
def test_a_cluster_of_two_workers(tmp_path: Path) -> None:
    textbook = next(example for example in gallery() if example.name == "textbook")
    script = tmp_path / "cluster.py"
    script.write_text(SCRIPT.format(target=f"{textbook.path}:new_indexer"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-P", str(script)],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "same: 12 programs" in done.stdout
