"""Stories: two sentences that are true of an interleaving, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcache_conformance.report.interleaving import interleaving_text
from kcache_conformance.report.story import story_lines, story_sentences
from kcache_model.interleaved_program import InterleavedProgram
from kcache_model.interleaving import CLOCK, InterleavedCall, Interleaving, InterleavingEvent, Switch, Waiting
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.target.explore import ExploreOptions, explore

BODIES = """
import threading
import time
from kcache import testing as kt


class Account:
    def __init__(self):
        self.left, self.right = 1, 0
        self.one, self.other = threading.Lock(), threading.Lock()

    def take(self):
        if self.left > 0:
            with self.one:
                self.left = self.left - 1

    def add(self):
        self.right = self.right + 1

    def move(self):
        self.left = 0
        self.right = 1

    def total(self):
        return self.left + self.right

    def there(self):
        with self.one, self.other:
            pass

    def back(self):
        with self.other, self.one:
            pass


def checks_then_acts():
    account = Account()
    kt.run(account.take, account.take)
    assert account.left == 0


def loses_an_update():
    account = Account()
    kt.run(account.add, account.add)
    assert account.right == 2


def reads_torn():
    account = Account()
    _, total = kt.run(account.move, account.total)
    assert total == 1


def waits_for_ever():
    account = Account()
    kt.run(account.there, account.back)


def notes_an_old_time():
    account = Account()
    account.seen = 0

    def note():
        now = time.monotonic()
        account.seen = now

    kt.run(note, note)
    assert time.monotonic() - account.seen < 1.5e-6


def depends_on_who_is_first():
    account = Account()
    _, total = kt.run(account.add, account.total)
    assert total == 2
"""


@pytest.fixture
def bodies(tmp_path: Path) -> Path:
    file = tmp_path / "bodies_of_stories.py"
    file.write_text(BODIES, encoding="utf-8")
    return file


def line_of(text: str) -> str:
    return f"bodies_of_stories.py:{BODIES[: BODIES.index(text)].count(chr(10)) + 1}"


def told(bodies: Path, name: str) -> Interleaving:
    found = explore(
        BodyExplorationTarget(f"{bodies}:{name}"), InterleavedProgram(), ExploreOptions(seconds=60.0, executions=500)
    )
    assert found.finding is not None
    assert found.finding.interleaving is not None
    return found.finding.interleaving


TAKE, ADD, MOVE = "self.left = self.left - 1", "self.right = self.right + 1", "self.left = 0"
HOLDS, OTHER = "with self.one, self.other", "with self.other, self.one"
STORIES = {
    "loses_an_update": (
        f"Thread 1, in account.add(), read account.right (it was 0) at {line_of(ADD)}.",
        f"Then, before it wrote account.right = 1 at {line_of(ADD)}, thread 2, in account.add(), wrote "
        f"account.right = 1 at {line_of(ADD)}.",
    ),
    "waits_for_ever": (
        f"Thread 1, in account.there(), holds account.one and waits for account.other at {line_of(HOLDS)}, which "
        "thread 2 holds.",
        f"Thread 2, in account.back(), holds account.other and waits for account.one at {line_of(OTHER)}, which "
        "thread 1 holds.",
    ),
}


def test_the_clock_is_shown_as_the_code_reads_it(bodies: Path) -> None:
    found = told(bodies, "notes_an_old_time")
    stored = [event.after for event in found.events if event.slot == ".seen" and event.kind == "write"]
    seen = [event.value.removesuffix(" s") for event in found.events if event.subject == CLOCK]
    assert seen == sorted(set(seen), key=float)
    assert len(stored) == 2
    assert set(stored) <= set(seen)


def test_threads_whose_readings_of_the_clock_are_stored_in_another_order(bodies: Path) -> None:
    first, then = story_sentences(told(bodies, "notes_an_old_time"))
    assert first == f"Thread 1, in note(), read the clock (it was 1e-06 s) at {line_of('now = time')}."
    assert "before it wrote account.seen = 1e-06" in then
    assert f"thread 2, in note(), read the clock (it was 2e-06 s) at {line_of('now = time')} and wrote" in then


@pytest.mark.parametrize("name", STORIES)
def test_a_story_says_what_was_done_when_and_what_changed_in_between(name: str, bodies: Path) -> None:
    assert story_sentences(told(bodies, name)) == STORIES[name]


def test_a_check_that_is_out_of_date(bodies: Path) -> None:
    first, then = story_sentences(told(bodies, "checks_then_acts"))
    assert first == f"Thread 1, in account.take(), read account.left (it was 1) at {line_of('if self.left > 0')}."
    assert "thread 2, in account.take(), wrote account.left = 0" in then
    assert then.startswith("Then, before it read account.left again (it was 0)") or "wrote account.left = -1" in then


def test_two_fields_that_do_not_fit_together(bodies: Path) -> None:
    first, then = story_sentences(told(bodies, "reads_torn"))
    assert "account.left" in first
    assert "account.right" in then
    assert then.count("account.") >= 3


def test_what_needs_no_preemption_says_so(bodies: Path) -> None:
    (only,) = story_sentences(told(bodies, "depends_on_who_is_first"))
    assert only == "No preemption is needed: the threads run one after another, thread 2, then thread 1."


def test_the_lines_begin_where_a_thread_is_interrupted(bodies: Path) -> None:
    add = f"account.add()  {line_of(ADD)}  {ADD}"
    assert story_lines(told(bodies, "loses_an_update")) == (
        f"thread 1: {add}",
        "-- thread 1 is interrupted --",
        f"thread 2: {add}",
        f"thread 1: {add}",
    )


# What must not be said


def event(thread: int, kind: str, subject: str, location: int, slot: str = "", **more: object) -> InterleavingEvent:
    fields = {"step": 1, "value": "0", "after": "1" if kind == "write" else "", "code": "", "function": ""}
    touched = {"reads" if kind == "read" else "writes": (location,)}
    return InterleavingEvent(
        **{**fields, **touched, "where": "a.py:1", "held": (), "switch": None, "wakes": (), "shared": True, **more},  # type: ignore[arg-type]
        thread=thread,
        kind=kind,
        subject=subject,
        slot=slot,
    )


def interleaving(*events: InterleavingEvent, calls: tuple[InterleavedCall, ...] = (), **more: object) -> Interleaving:
    return Interleaving(2, {}, events, calls, (), (), (), (), True, **more)  # type: ignore[arg-type]


INTERRUPTED = Switch(0, True, False, (), "", None)
READ = event(0, "read", "a", 1)
WRITE = event(0, "write", "a", 1)


@pytest.mark.parametrize(
    "events",
    [
        (READ, event(1, "write", "a", 2, switch=INTERRUPTED), WRITE),
        (WRITE, event(1, "write", "a", 1, switch=INTERRUPTED), WRITE),
        (READ, event(1, "write", "a", 1, after="0", switch=INTERRUPTED), WRITE),
        (READ, event(1, "read", "a", 1, switch=INTERRUPTED), WRITE),
        (
            event(0, "read", "d", 1, "['a']"),
            event(1, "write", "d", 1, "['b']", switch=INTERRUPTED),
            event(0, "write", "d", 1, "['a']"),
        ),
        (event(0, "acquire", "a", 1), event(1, "acquire", "a", 1, switch=INTERRUPTED), event(0, "release", "a", 1)),
    ],
    ids=["another object", "the last word", "nothing changes", "nobody writes", "another key", "locks"],
)
def test_no_sentence_where_the_threads_can_have_come_one_after_another(events: tuple[InterleavingEvent, ...]) -> None:
    assert story_sentences(interleaving(*events)) == ()
    assert story_sentences(interleaving(READ, event(1, "write", "a", 1, switch=INTERRUPTED), WRITE)) != ()


@pytest.mark.parametrize(("location", "is_told"), [(1, True), (2, False)])
def test_what_the_sentences_tell_is_never_folded(location: int, is_told: bool) -> None:
    """Not even far from where a thread is interrupted, in an interleaving that is long."""
    others = [event(1, "write", "b", 3, where="a.py:7", meets=True)] * 100
    read = event(0, "read", "a", 1, where="a.py:5")
    busy = [event(1, "write", "b", 3, where="a.py:7", switch=INTERRUPTED, meets=True), *others]
    written = event(1, "write", "a", location, where="a.py:6")
    told = interleaving(*[event(0, "read", "c", 4)] * 100, read, *busy, written, *others, event(0, "write", "a", 1))
    assert (story_sentences(told) != ()) == is_told
    assert ("a.py:6" in interleaving_text(told)) == is_told


def test_no_sentence_about_two_calls_that_are_right_each() -> None:
    events = (READ, event(1, "write", "a", 1, switch=INTERRUPTED), WRITE)
    calls = (InterleavedCall(0, "get()", "0", 0, 0), InterleavedCall(0, "set()", "None", 2, 2))
    assert story_sentences(interleaving(*events, calls=calls)) == ()
    other = event(1, "write", "b", 2), READ, event(1, "write", "a", 1, switch=INTERRUPTED), event(0, "read", "b", 2)
    two = (InterleavedCall(1, "set_b()", "None", 0, 0), InterleavedCall(1, "set_a()", "None", 2, 2))
    assert story_sentences(interleaving(*other, calls=two)) == ()


def test_no_sentence_where_there_is_no_interleaving() -> None:
    assert story_sentences(None) == ()
    assert story_sentences(interleaving()) == ()


def waits(events: tuple[InterleavingEvent, ...], **more: object) -> tuple[str, ...]:
    waiting = Waiting(0, "", None, "a.py:9", "", "f", ())
    found = Waiting(**{**waiting.__dict__, **more})  # type: ignore[arg-type]
    return story_sentences(Interleaving(2, {1: "owner"}, events, (), (), (), (found,), (), True))


def test_who_waits_for_what() -> None:
    assert waits((READ,), what="a", holder=0) == ("Thread 1 waits for a at a.py:9, which it holds itself.",)
    assert waits((READ,), what="a", holder=1, holding=("b", "c")) == (
        "Thread 1 holds b and c and waits for a at a.py:9, which thread 2 took and did not release.",
    )


def test_why_one_thread_waits_for_ever() -> None:
    events = (READ, event(1, "write", "a", 1, switch=INTERRUPTED), WRITE)
    assert waits(events, what="a", holder=0) == (
        "Thread 1 read a (it was 0) at a.py:1.",
        "Then, before it wrote a = 1 at a.py:1, thread 2 (owner) wrote a = 1 at a.py:1.",
        "Thread 1 waits for a at a.py:9, which it holds itself.",
    )
    without = (READ, event(1, "write", "a", 1), WRITE)
    assert waits(without, what="a", holder=0) == ("Thread 1 waits for a at a.py:9, which it holds itself.",)


def test_a_wakeup_that_comes_too_early() -> None:
    wait = event(0, "call", "c", 1, ".wait()", ends=False)
    notify = event(1, "call", "c", 1, ".notify()")
    assert waits((notify, wait), what="c.wait()") == (
        "Thread 1 waits in c.wait() at a.py:9.",
        "Before thread 1 began to wait, thread 2 (owner) called c.notify() at a.py:1, which woke no thread.",
    )
    for fine in ((wait, notify), (event(1, "call", "c", 1, ".notify()", wakes=(2,)), wait)):
        assert waits(fine, what="c.wait()") == ("Thread 1 waits in c.wait() at a.py:9.",)
    events = (
        event(1, "call", "e", 1, ".set()"),
        event(0, "call", "e", 1, ".clear()"),
        event(0, "call", "e", 1, ".wait()"),
    )
    assert waits(events, what="e.wait()")[1] == (
        "Before thread 1 began to wait, thread 2 (owner) called e.set() at a.py:1, then thread 1 "
        "called e.clear() at a.py:1."
    )


def test_only_what_a_preemption_makes_is_told() -> None:
    waited = Switch(0, False, False, (), "lock", 1)
    events = (
        READ,
        event(1, "write", "a", 1, switch=waited),
        WRITE,
        event(0, "read", "b", 2),
        event(1, "write", "b", 2, switch=INTERRUPTED),
        event(0, "write", "b", 2),
    )
    assert story_sentences(interleaving(*events))[0] == "Thread 1 read b (it was 0) at a.py:1."
    assert story_sentences(interleaving(*events[:3])) == ()
    (only,) = story_sentences(interleaving(*events[:3], is_interrupted=False))
    assert only == "No preemption is needed: each thread runs until it waits or ends."
