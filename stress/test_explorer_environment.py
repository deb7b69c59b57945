"""Environment of executions: what a thread is told of chance, ids, time and threads depends on its schedule alone."""

import datetime
import threading
import uuid
from pathlib import Path

import pytest

from kcache_stress.engine.strategy import Coverage
from kcache_stress.target.scenarios import Scenario, explore_scenario

MODULE = """
import datetime, gc, os, random, secrets, threading, time, timeit, uuid

def asked():
    {asked}
"""


def explored(folder: Path, asked: str, threads: int = 2, **options):
    """All interleavings of threads that ask for something, and what they were given."""
    file = folder / "asking.py"
    file.write_text(MODULE.format(asked=asked))
    seen = set()

    def keep(results):
        seen.add(tuple(map(str, results)))

    scenario = Scenario((), lambda load: [load(file).asked] * threads, keep)
    return explore_scenario(scenario, executions=500, seconds=60, **options), seen


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "asked",
    [
        *("random.random()", "random.Random().random()", "secrets.token_hex(8)", "secrets.choice(range(10_000))"),
        *("os.urandom(4)", "uuid.uuid4()", "uuid.uuid1()", "random.SystemRandom().random()"),
        *("time.localtime()", "time.gmtime()", "time.ctime()", "time.asctime()", "time.strftime('%c')"),
        *(
            "time.process_time()",
            "time.thread_time_ns()",
            "time.time_ns()",
            "timeit.default_timer()",
            "os.times().elapsed",
        ),
        "time.clock_gettime(time.CLOCK_REALTIME)",
        *("datetime.datetime.now(datetime.UTC)", "datetime.datetime.utcnow()", "datetime.datetime.today()"),
        "datetime.date.today()",
        *("threading.get_native_id()", "threading.active_count()", "len(threading.enumerate())"),
    ],
)
def test_each_run_of_an_execution_is_told_the_same(tmp_path, asked):
    """One thread has one execution, which is run again and again: by the search, its audit, and anew."""
    result, seen = explored(tmp_path, f"return {asked}", threads=1, audits=True)
    assert result.problem is None
    assert explored(tmp_path, f"return {asked}", threads=1, audits=True)[1] == seen
    assert len(seen) == 1


@pytest.mark.parametrize("asked", ["os.urandom(4)", "uuid.uuid4()", "uuid.uuid1()", "secrets.token_hex(8)"])
def test_what_is_drawn_depends_on_the_thread_and_not_on_the_order(tmp_path, asked):
    """Nobody gets what another one got."""
    result, seen = explored(tmp_path, f"return {asked}, {asked}")
    assert result.problem is None
    ((one, other),) = seen
    assert one != other
    assert len(set(one.split(", "))) == 2


@pytest.mark.parametrize("audits", [False, True])
def test_all_clocks_tell_the_same_time(tmp_path, audits):
    """In the search, and in its audit, which runs code that is not rewritten."""
    asked = (
        "before = time.time(); time.sleep(30); now = datetime.datetime.now(tz=datetime.timezone.utc); "
        "return type(now), 29 < now.timestamp() - before < 31, datetime.date.today() == datetime.datetime.now().date()"
    )
    _, seen = explored(tmp_path, asked, threads=1, audits=audits)
    assert seen == {(str((datetime.datetime, True, True)),)}


def test_a_class_that_says_itself_what_time_it_is_is_asked(tmp_path):
    asked = "return type('Own', (datetime.datetime,), {'now': classmethod(lambda cls: 7)}).now()"
    assert explored(tmp_path, asked, threads=1, audits=True)[1] == {("7",)}


def test_ids_are_what_they_say(tmp_path):
    asked = "made = uuid.uuid1(), uuid.uuid4(); return [(i.version, i.variant) for i in made] + [made[0].time > 0]"
    _, seen = explored(tmp_path, asked, threads=1, audits=False)
    assert seen == {(str([(1, uuid.RFC_4122), (4, uuid.RFC_4122), True]),)}


def test_nothing_is_replaced_between_executions(tmp_path):
    before = uuid.uuid4(), uuid.uuid1()
    explored(tmp_path, "return uuid.uuid4()", threads=1, audits=False)
    assert len({*before, uuid.uuid4(), uuid.uuid1()}) == 4


@pytest.mark.one_in(2, start=1)
@pytest.mark.parametrize("asked", ["ask = datetime.datetime.now; ask()", "gc.collect()", "os.system('')"])
def test_what_no_event_tells_is_no_proof(tmp_path, asked):
    """The real clock, another process, and what is garbage: that follows from what other threads let go of."""
    result, _ = explored(tmp_path, f"{asked}", audits=False)
    assert (result.problem, result.coverage) == (None, Coverage.NO_PROOF)
    assert "asking.py:5" in result.note
    result, _ = explored(tmp_path, "return datetime.datetime(2020, 1, 1), gc.isenabled", audits=False)
    assert result.coverage is Coverage.EXHAUSTED


@pytest.mark.parametrize("asked", ["os.fork()", "import _thread; _thread.interrupt_main()"])
def test_other_processes_and_signals_are_refused(tmp_path, asked):
    result, _ = explored(tmp_path, asked)
    assert result.refused.startswith("asking.py:5 in asked uses "), result


JOINING = """
import datetime
import threading
class Made:
    def __init__(self):
        self.thread = None
    def tells(self):
        self.thread = threading.current_thread()
    def joins(self):
        if self.thread is not None:
            self.thread.join()
"""


@pytest.mark.parametrize("is_own", [True, False])
def test_joining_a_thread_of_the_program_is_no_false_finding(tmp_path, is_own):
    """Nobody may wait for itself; that others may is not known here, and not held against them."""
    (tmp_path / "joining.py").write_text(JOINING)

    def setup(load):
        made = load(tmp_path / "joining.py").Made()
        return [lambda: (made.tells(), made.joins())] if is_own else [made.tells, made.joins]

    result = explore_scenario(Scenario((), setup), executions=100, audits=False)
    if is_own:
        assert "cannot join current thread" in str(result.problem)
    else:
        assert result.problem is None
        assert "joins a thread of the program" in result.refused


def test_locks_show_whether_they_are_held(tmp_path):
    result, seen = explored(tmp_path, "lock = threading.RLock(); lock.acquire(); return repr(lock)[:30]", threads=1)
    assert result.problem is None
    assert {text[:8] for (text,) in seen} == {repr(threading.Lock()).replace("unlocked", "locked")[:8]}
