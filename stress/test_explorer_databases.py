"""SQLite under the explorer: a thread that finds a database locked waits for the others, as long as SQLite would."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcache_model.interleaved_program import InterleavedProgram
from kcache_stress.engine.strategy import Coverage
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.target.explore import Explored, ExploreOptions, explore

pytestmark = pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")


@pytest.fixture(autouse=True)
def connections_die_here() -> Iterator[None]:
    """Threads of these bodies leave connections open; from Python 3.13 on each warns when it dies: here, not later."""
    yield
    gc.collect()


START = """
import sqlite3
import threading


def together(*works):
    errors = []

    def attempt(work):
        try:
            work()
        except sqlite3.Error as error:
            errors.append(error)

    threads = [threading.Thread(target=attempt, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        raise error


def made(path, **options):
    db = sqlite3.connect(path, **options)
    db.execute("create table t (n)")
    db.execute("insert into t values (0)")
    db.commit()
    return db


def value(db):
    return db.execute("select n from t").fetchone()[0]

"""

LOCKED = "OperationalError: database is locked"
COUNTS = "assert value(db) == 2"

BODIES = {
    # Two threads count: the body of the thread, and what is found, if anything.
    "begin exclusive": ("begin exclusive;read;write;commit", ""),
    "autocommit": ("read;write", COUNTS),
    "begin deferred": ("begin;read;write;commit", LOCKED),  # SQLite does not wait: both have read
    "a deferred transaction that begins with a write": ("begin;add;read;commit", ""),
    "a transaction of the module": ("read;with write", COUNTS),
    "a transaction of the module with one statement": ("with add", ""),
    "no timeout": ("pragma 0;begin immediate;read;write;commit", LOCKED),
    "a pragma with a timeout": ("timeout 0;pragma 5000;begin immediate;read;write;commit", ""),
    "a journal ahead": ("wal;begin immediate;read;write;commit", ""),
    "a journal ahead, deferred": ("wal;begin;read;write;commit", LOCKED),
}
STEPS = {
    "begin": "own.execute('begin')",
    "begin immediate": "own.execute('begin immediate')",
    "begin exclusive": "own.execute(' /* now */ BEGIN EXCLUSIVE')",
    "read": "n = value(own)",
    "write": "own.execute('update t set n = ?', (n + 1,))",
    "add": "own.execute('update t set n = n + 1')",
    "commit": "own.execute('commit')",
    "with write": "with own: own.execute('update t set n = ?', (n + 1,))",
    "with add": "with own: own.executemany('update t set n = n + ?', iter([(1,)]))",
    "pragma 0": "own.execute('pragma busy_timeout = 0'); assert value_of_timeout(own) == 0",
    "pragma 5000": "own.execute('pragma busy_timeout(5000)'); assert value_of_timeout(own) == 5000",
}


def counting(steps: str) -> str:
    words = steps.split(";")
    options = ["isolation_level=None"] if not any(word.startswith("with") for word in words) else []
    options += ["timeout=0"] if "timeout 0" in words else []
    lines = [STEPS[word] for word in words if word in STEPS]
    mode = "db.execute('pragma journal_mode = wal')" if "wal" in words else "pass"
    return f"""
def value_of_timeout(db):
    return db.execute("pragma busy_timeout").fetchone()[0]


def test(tmp_path):
    path = str(tmp_path / "counts.db")
    db = made(path)
    {mode}

    def work():
        own = sqlite3.connect(path, {", ".join(options)})
        {"; ".join(lines[:-1]) or "pass"}
        {lines[-1]}
        own.close()

    together(work, work)
    assert value(db) == 2
"""


def explored(folder: Path, text: str) -> Explored:
    file = folder / f"body_{abs(hash(text))}.py"
    file.write_text(START + text, encoding="utf-8")
    exploration_target = BodyExplorationTarget(f"{file}:test")
    return explore(exploration_target, InterleavedProgram(), ExploreOptions(seconds=60.0, executions=16))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", BODIES)
def test_transactions_are_explored(tmp_path: Path, name: str) -> None:
    steps, wrong = BODIES[name]
    found = explored(tmp_path, counting(steps))
    assert not found.refused
    assert found.executions > 1
    assert wrong in ("" if found.finding is None else found.finding.summary)
    assert (found.finding is None) == (not wrong), found.finding
    assert not found.is_exhausted or found.no_proof


OTHERS = {
    "who cannot go on is told after the timeout": """
def test(tmp_path):
    path, told, failed = str(tmp_path / "a.db"), threading.Event(), []
    db = made(path, isolation_level=None, check_same_thread=False)
    db.execute("begin immediate")

    def holds():
        told.wait()
        db.execute("commit")

    def asks():
        own = sqlite3.connect(path, isolation_level=None, timeout=2)
        try:
            own.execute("begin immediate")
        except sqlite3.OperationalError as error:
            failed.append(error.sqlite_errorname)
        told.set()

    together(holds, asks)
    assert failed == ["SQLITE_BUSY"]
""",
    "a commit waits for who reads": """
def test(tmp_path):
    path = str(tmp_path / "a.db")
    db = made(path, isolation_level=None)

    def reads():
        own = sqlite3.connect(path, isolation_level=None)
        own.execute("begin")
        assert value(own) == value(own)
        own.execute("commit")

    def writes():
        own = sqlite3.connect(path)
        own.execute("update t set n = 5")
        own.commit()

    together(reads, writes)
    assert value(db) == 5
""",
    "rows, scripts, factories": """
class Own(sqlite3.Connection):
    pass


def test(tmp_path):
    path = str(tmp_path / "a.db")
    db = made(path, factory=Own)
    db.row_factory = sqlite3.Row

    def adds():
        own = sqlite3.connect(path, isolation_level="IMMEDIATE")
        with own:
            own.executemany("insert into t values (?)", [(1,), (2,)])
        own.executescript("begin immediate; insert into t values (3); commit;")
        own.close()

    together(adds, adds)
    cursor = db.execute("select n from t order by n")
    assert cursor.fetchone()["n"] == 0 and [row["n"] for row in cursor.fetchmany(2)] == [1, 1]
    assert [tuple(row) for row in cursor] == [(2,), (2,), (3,), (3,)] and cursor.fetchall() == []
    assert [tuple(row) for row in db.execute("pragma synchronous")] == [(2,)]
    db.execute("pragma synchronous = NORMAL")
    assert db.execute("pragma main.synchronous").fetchone()[0] == 1
    assert type(db) is Own and isinstance(db, sqlite3.Connection) and isinstance(cursor, sqlite3.Cursor)
    db.close()
    try:
        db.execute("select 1")
    except sqlite3.ProgrammingError:
        return
    raise AssertionError
""",
    "a table of a shared cache, locked: SQLite does not wait": """
def test():
    name = "file:shared_cache?mode=memory&cache=shared"
    db = made(name, uri=True)

    def work():
        own = sqlite3.connect(name, uri=True)
        with own:
            own.execute("update t set n = n + 1")

    together(work, work)
    assert value(db) == 2
""",
    "a connection of another thread": """
def test(tmp_path):
    db = made(str(tmp_path / "a.db"))
    together(lambda: db.execute("select n from t"), lambda: None)
""",
}
WRONG = {
    "a table of a shared cache, locked: SQLite does not wait": "OperationalError: database table is locked",
    "a connection of another thread": "ProgrammingError: SQLite objects created in a thread",
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", OTHERS)
def test_connections_do_what_they_do_on_real_threads(tmp_path: Path, name: str) -> None:
    found = explored(tmp_path, OTHERS[name])
    assert not found.refused
    summary = "" if found.finding is None else found.finding.summary
    assert WRONG[name] in summary if name in WRONG else summary == "", summary


TOGETHER = (
    START
    + """
LOCK = threading.Lock()


def add(db):
    db.execute("update t set n = n + 1")
    db.commit()


def add_in_turn(db):
    with LOCK:
        add(db)


def two(add):
    db = made(":memory:", check_same_thread=False)
    together(lambda: add(db), lambda: add(db))
    assert value(db) == 2
    db.close()


def test_free():
    two(add)


def test_in_turn():
    two(add_in_turn)
"""
)


@pytest.mark.parametrize(("name", "coverage"), [("test_free", Coverage.NO_PROOF), ("test_in_turn", Coverage.EXHAUSTED)])
def test_calls_are_part_of_a_proof_if_a_lock_orders_them(
    name: str, coverage: Coverage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "together.py").write_text(TOGETHER, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    result = explore(BodyExplorationTarget(f"together:{name}"), InterleavedProgram(), ExploreOptions(executions=200))
    assert (result.finding, result.coverage) == (None, coverage)
