"""Objects die where they die in production, though the explorer has seen them: `__del__` and weak references."""

from __future__ import annotations

from pathlib import Path

from stress.material.body_support import searched

POOLS = """
import weakref

class Lease:
    def __init__(self, pool):
        self.pool = pool
    def __del__(self):
        with self.pool.cond:
            self.pool.free += 1
            self.pool.cond.notify()

class Forgets(Lease):
    def __del__(self):
        with self.pool.cond:
            self.pool.free += 1

class Unlocked(Lease):
    def __del__(self):
        self.pool.free += 1

class Pool:
    def __init__(self, kind, free=1):
        self.cond, self.free, self.kind = threading.Condition(), free, kind
    def lease(self):
        with self.cond:
            while not self.free:
                self.cond.wait()
            self.free -= 1
        return self.kind(self)

def given_back(kind):
    pool = Pool(kind)
    lease = pool.lease()
    thread = threading.Thread(target=pool.lease)
    thread.start()
    del lease
    thread.join(0.1)
    assert not thread.is_alive()

def counted(kind):
    pool = Pool(kind, 2)
    def use():
        lease = pool.lease()
        lease.used = True
        del lease
    started(use, use)
    assert pool.free == 2

class Worker(threading.Thread):
    def __init__(self, pool):
        super().__init__()
        self.lease = pool.lease()

def ended(kind):
    pool = Pool(kind, 2)
    for _ in range(2):
        Worker(pool).start()
    with pool.cond:
        while pool.free < 2:
            pool.cond.wait()

class Thing:
    def __init__(self, value):
        self.value = value
"""

RIGHT = """
def test_given_back(): given_back(Lease)
def test_counted(): counted(Lease)
def test_ended(): ended(Lease)

def test_a_callback_has_run():
    done = []
    def use():
        thing = Thing(1)
        weakref.finalize(thing, done.append, 1)
        thing.value += 1
        del thing
    started(use, use)
    assert done == [1, 1]

def test_a_weak_entry_is_gone():
    cache, seen = weakref.WeakValueDictionary(), []
    def use():
        thing = cache[0] = Thing(1)
        thing.value += 1
        del thing
        seen.append(len(cache))
    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert seen == [0]

def test_addresses_that_are_used_again():
    lock, total = threading.Lock(), [0]
    def use():
        for value in range(3):
            thing = Thing(value)
            thing.value += 1
            with lock: total[0] += thing.value
            del thing
    started(use, use)
    assert total == [12]
"""

WRONG = """
def test_forgets(): given_back(Forgets)
def test_races(): counted(Unlocked)
def test_is_never_told(): ended(Forgets)
"""


def test_what_gives_back_when_it_dies_gives_back_in_time(tmp_path: Path) -> None:
    found = {of.name: of for of in searched(tmp_path, POOLS + RIGHT)}
    assert {name: of.problem for name, of in found.items()} == dict.fromkeys(found, "")
    for name in ("test_counted", "test_addresses_that_are_used_again"):
        assert found[name].coverage.value == "exhausted"


def test_a_race_with_a_finalizer_is_found(tmp_path: Path) -> None:
    for found in searched(tmp_path, POOLS + WRONG, 300):
        assert (found.name, bool(found.problem), found.unseen) == (found.name, True, "")


AFTERWARDS = """
import gc, weakref
from kcache import testing as kt

class Box:
    def __init__(self):
        self.n, self.lock = 0, threading.Lock()
        self.itself = self
    def add(self):
        with self.lock:
            self.n += 1

KEPT = []

def died(keeps):
    box = Box()
    kt.run(box.add, box.add)
    assert box.n == 2
    if keeps:
        KEPT.append(box)
    seen = weakref.ref(box)
    del box
    gc.collect()
    assert seen() is None

def test_forgotten(): died(keeps=False)
def test_kept(): died(keeps=True)
"""


def test_nothing_keeps_the_objects_of_threads_that_have_ended(tmp_path: Path) -> None:
    of = {found.name: found for found in searched(tmp_path, AFTERWARDS)}
    assert of["test_forgotten"].problem == ""
    assert "seen() is None" in of["test_kept"].problem
