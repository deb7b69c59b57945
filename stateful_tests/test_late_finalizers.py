"""Finalizers under the explorer: they run when their objects die, but for what the explorer has to keep.

What depends on a finalizer that is late is no violation.
"""

import textwrap
from math import inf
from pathlib import Path

import pytest

from kcache_model.interleaved_program import InterleavedProgram
from kcache_model.verdict import Status
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.target.explore import Explored, ExploreOptions, explore

QUICK = ExploreOptions(seconds=inf, candidates=ExploreOptions(executions=20))  # whether a GIL allows it is not asked

BODIES = """
    import threading
    import weakref

    from kcache import testing as kt

    lock = threading.Lock()
    closed = []

    class Used:
        def __init__(self):
            self.count = 0

        def use(self):
            self.count += 1

    class Closed(Used):
        def __del__(self):
            closed.append(self)

    def steps(work):
        try:
            yield work.use()
        finally:
            with lock:
                closed.append(work)

    def both(work):
        closed.clear()
        thread = threading.Thread(target=work)
        thread.start()
        work()
        thread.join()

    def finalized():
        both(lambda: Closed().use())
        assert len(closed) == 2

    def called_back():
        references = []
        def work():
            used = Used()
            references.append(weakref.ref(used, closed.append))
            used.use()
        both(work)
        assert len(closed) == 2

    def left_half_way():
        both(lambda: next(steps(Used())))
        assert len(closed) == 2

    def racy():
        one = Closed()
        both(one.use)
        assert one.count == 2

    def racy_in_a_generator():
        one = Used()
        made = [steps(one), steps(one)]
        both(lambda: next(made.pop()))
        assert one.count == 2

    class Connection:
        is_open = False

        def __init__(self):
            Connection.is_open = True

        def __del__(self):
            Connection.is_open = False

    class Holder:
        def __init__(self):
            self.lock = threading.Lock()
            self.connection = Connection()

        def read(self):
            with self.lock:
                return self.connection is None or Connection.is_open

        def read_unlocked(self):
            return self.connection is None or Connection.is_open

        def close(self):
            with self.lock:
                self.connection = None

    def closed_between_reads():
        holder = Holder()
        assert kt.run(holder.read, holder.close)[0]

    def closed_while_read():
        holder = Holder()
        assert kt.run(holder.read_unlocked, holder.close)[0]

    class Mute:
        def __init__(self):
            self.count = 0
            self.lock = threading.Lock()

        def __getattribute__(self, name):
            if name not in ("count", "lock", "use", "use_safely"):
                raise ValueError(f"asked for {name}")
            return object.__getattribute__(self, name)

        def use(self):
            self.count += 1

        def use_safely(self):
            with self.lock:
                self.count += 1

    def racy_on_an_object_that_answers_nothing():
        one = Mute()
        kt.run(one.use, one.use)
        assert one.count == 2

    def right_on_an_object_that_answers_nothing():
        one = Mute()
        kt.run(one.use_safely, one.use_safely)
        assert one.count == 2

    def racy_beside_a_proxy():
        one = Used()
        one.proxies = weakref.proxy(one), weakref.ref(one)
        kt.run(one.use, one.use)
        assert one.count == 2

    def called_back_by_a_proxy():
        proxies = []
        def work():
            used = Used()
            proxies.append(weakref.proxy(used, closed.append))
            used.use()
        both(work)
        assert len(closed) == 2
    """


@pytest.fixture(scope="module")
def bodies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("bodies") / "late.py"
    file.write_text(textwrap.dedent(BODIES))
    return file


def explored(bodies: Path, name: str) -> Explored:
    return explore(BodyExplorationTarget(f"{bodies}:{name}"), InterleavedProgram(), QUICK)


@pytest.mark.parametrize("name", ["finalized", "called_back", "called_back_by_a_proxy"])
def test_finalizers_run_when_their_objects_die(name: str, bodies: Path) -> None:
    result = explored(bodies, name)
    assert result.finding is None
    assert not result.refused


def test_a_finalizer_that_is_late_is_no_violation(bodies: Path) -> None:
    finding = explored(bodies, "left_half_way").finding
    assert finding is not None
    assert finding.status is Status.UNKNOWN
    assert "the rest of the generator steps may run later" in finding.unconfirmed


RACY = [
    "racy",
    "racy_in_a_generator",
    "closed_while_read",
    "racy_on_an_object_that_answers_nothing",
    "racy_beside_a_proxy",
]


@pytest.mark.parametrize("name", RACY)
def test_a_race_beside_a_finalizer_is_one(name: str, bodies: Path) -> None:
    finding = explored(bodies, name).finding
    assert finding is not None
    assert finding.status is Status.VIOLATION
    assert finding.unconfirmed == ""


@pytest.mark.parametrize("name", ["closed_between_reads", "right_on_an_object_that_answers_nothing"])
def test_what_one_execution_made_does_not_die_in_the_next(name: str, bodies: Path) -> None:
    result = explored(bodies, name)
    assert result.finding is None
    assert not result.refused
