"""Test bodies that wait for threads of their own by asking again and again: right ones are not taken for hangs."""

import textwrap
from pathlib import Path

import pytest

from kcache_model.finding import FindingKind
from kcache_model.interleaved_program import InterleavedProgram
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.target.explore import Explored, ExploreOptions, explore

QUICK = ExploreOptions(executions=20, candidates=ExploreOptions(executions=20))  # that a GIL allows it is not asked

BODIES = """
    import threading
    import time

    def started(work):
        thread = threading.Thread(target=work)
        thread.start()
        return thread

    def after_a_while(done):
        time.sleep(0.01)
        done.append(1)

    def sleeps():
        done = []
        thread = started(lambda: after_a_while(done))
        while not done:
            time.sleep(0.005)
        thread.join()

    def spins():
        done = []
        thread = started(lambda: done.append(1))
        while not done:
            pass
        thread.join()

    def sleeps_in_vain():
        done = []
        thread = started(lambda: done or after_a_while([]))
        while not done:
            time.sleep(0.005)
        thread.join()

    def changed(change):
        class Job:
            pass
        job = Job()
        job.done = False
        thread = started(lambda: change(job))
        while not job.done:
            time.sleep(0.01)
        thread.join()

    def is_changed_unseen():
        unseen = compile("job.done = True", "unseen", "exec")
        changed(lambda job: exec(unseen, {"job": job}))

    def is_changed_unseen_by_a_thread_that_waits():
        unseen, lock = compile("job.done = True", "unseen", "exec"), threading.Lock()
        def change(job):
            exec(unseen, {"job": job})
            lock.acquire(timeout=60)
        lock.acquire()
        changed(change)

    def counts_at_once():
        done, counted = [], [0]
        def count():
            counted[0] += 1
            after_a_while(done)
        threads = [started(count), started(count)]
        while len(done) < 2:
            time.sleep(0.005)
        assert counted == [2]
    """


def explored(folder: Path, name: str) -> Explored:
    file = folder / "polling.py"
    file.write_text(textwrap.dedent(BODIES), encoding="utf-8")
    return explore(BodyExplorationTarget(f"{file}:{name}"), InterleavedProgram(), QUICK)


@pytest.mark.parametrize("name", ["sleeps", "spins", "is_changed_unseen", "is_changed_unseen_by_a_thread_that_waits"])
def test_polling_is_no_hang(name: str, tmp_path: Path) -> None:
    shown = explored(tmp_path, name)
    assert shown.finding is None
    assert shown.is_exhausted == (name == "sleeps")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("sleeps_in_vain", FindingKind.DEADLOCK),
        ("counts_at_once", FindingKind.FAILURE),
    ],
)
def test_what_is_wrong_beside_polling_is_found(name: str, kind: FindingKind, tmp_path: Path) -> None:
    found = explored(tmp_path, name).finding
    assert found is not None
    assert found.kind is kind
