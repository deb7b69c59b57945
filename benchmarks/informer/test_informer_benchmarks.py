import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("kubernetes.informer", reason="the client has an informer since 36.0.0")

from benchmarks.informer import memory, queues
from benchmarks.informer.pods import lines, listed
from benchmarks.informer.recorded_api import RecordedApi
from benchmarks.informer.subjects import SUBJECTS, Stopwatch, node_of

SCRIPT = Path(__file__).parent / "run.py"
TITLES = ("through a queue", "in memory, models", "in memory, manifests", "Stages of", "over HTTP", "Memory while")


@pytest.mark.nightly
def test_all_tables_are_printed():
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, str(SCRIPT), "--tiny"]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=60)
    assert ended.returncode == 0, ended.stderr
    assert [title for title in TITLES if title not in ended.stdout] == []


@pytest.mark.parametrize("name", queues.FACTORIES)
def test_a_queue_hands_out_what_it_was_given(name):
    for way in (queues.one_thread, queues.filled_first, queues.two_threads):
        assert way(name, 100) > 0


@pytest.mark.parametrize("name", SUBJECTS)
def test_each_informer_tells_of_all_updates(name):
    api = RecordedApi(listed(3), lines(3, 7))
    manifests = api.list_manifests if name.startswith("kcache") else api.list_manifests_as_object
    for list_func in (api.list_pods, manifests):
        stopwatch = Stopwatch(7)
        with SUBJECTS[name](list_func, stopwatch, lambda: None):
            assert stopwatch.seconds_per_event() > 0


def test_manifests_and_models_have_the_same_node():
    api = RecordedApi(listed(1), [])
    assert [node_of(pod) for pod in api.list_pods().items] == [node_of(pod) for pod in listed(1)] == ["node-1"]


@pytest.mark.nightly
def test_memory_is_sampled_from_the_first_to_the_last_event():
    assert [sample.events for sample in memory.curve(4000, 4)] == [0, 1000, 2000, 3000, 4000]
