"""The rules, the data on which they are judged, and what is made of a program."""

from __future__ import annotations

import contextlib
import io
import itertools
import random
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

import kcache.testing
from kcache_conformance.informers.findings import TOKENS, InformerToken
from kcache_conformance.informers.litmus_tests import CONCURRENT, CROWDED, SEQUENTIAL
from kcache_conformance.informers.random_programs import random_program
from kcache_conformance.informers.target import make_informer_target
from kcache_model.errors import FormatError, TargetError
from kcache_model.finding import FindingKind
from kcache_model.informers.broken_rules import broken_rules, known_after
from kcache_model.informers.minimise import minimise
from kcache_model.informers.program import InformerProgram, Step, StepName
from kcache_model.informers.script import script
from kcache_model.informers.stories import FirstSync, HandlerStory, PipelineStory, ServerStory, Told, ToldKind, Version
from kcache_stress.engine.granularity import Granularity

A1, A2, A3 = (Version("default/a", "uid-1", number) for number in (1, 2, 3))
OTHER_A = Version("default/a", "uid-9", 9)
B4 = Version("default/b", "uid-2", 4)
CHANGES = ((A1, False), (A2, False), (B4, False))
SERVER = ServerStory(CHANGES, {"default/a": A2, "default/b": B4}, first_list=(A1,))
ADD_A = Told(ToldKind.ADD, A1, is_in_initial_list=True, stored=A1)
UPDATE_A = Told(ToldKind.UPDATE, A2, old=A1, stored=A2)
ADD_B = Told(ToldKind.ADD, B4, stored=B4)
RIGHT = PipelineStory(SERVER, (HandlerStory("handler 0", (ADD_A, UPDATE_A, ADD_B)),), dict(SERVER.content))


def told(*calls: Told, server: ServerStory = SERVER, **fields: object) -> PipelineStory:
    """A story with one handler that was told this."""
    return replace(RIGHT, server=server, handlers=(replace(RIGHT.handlers[0], calls=calls, **fields),))


DELETED = ServerStory((*CHANGES, (replace(A2, resource_version=5), True)), {"default/b": B4}, first_list=(A1,))
DELETE_A = Told(ToldKind.DELETE, replace(A2, resource_version=5))
TOMBSTONE_A = Told(ToldKind.DELETE, A2, is_tombstone=True)


def in_the_end(story: PipelineStory) -> PipelineStory:
    return replace(story, store=dict(story.server.content))


def test_a_right_story_breaks_no_rule() -> None:
    assert list(broken_rules(RIGHT)) == []


@pytest.mark.parametrize(
    "story",
    [
        told(ADD_A, ADD_B, UPDATE_A),
        told(ADD_A, Told(ToldKind.UPDATE, A1, old=A1, stored=A1), UPDATE_A, ADD_B),
        told(replace(ADD_A, stored=A2), UPDATE_A, ADD_B),
        told(replace(ADD_A, stored=None), UPDATE_A, ADD_B),
        told(ADD_A, UPDATE_A, is_complete=False),
        told(ADD_A, UPDATE_A, ADD_B, synced_after=1),
        told(ADD_A, UPDATE_A, ADD_B, most_calls=3),
        replace(RIGHT, open_watches=1),
        replace(
            RIGHT, first_sync=FirstSync(("default/a", "default/c"), frozenset({"default/a"}), frozenset({"default/c"}))
        ),
        replace(RIGHT, first_sync=FirstSync(None, frozenset(), was_watched=True)),
        replace(
            RIGHT,
            first_sync=FirstSync(("default/a",), frozenset()),
            server=replace(SERVER, went_back=True),
        ),
        in_the_end(told(ADD_A, UPDATE_A, ADD_B, DELETE_A, server=DELETED)),
        in_the_end(told(ADD_A, UPDATE_A, ADD_B, TOMBSTONE_A, server=DELETED)),
        in_the_end(told(ADD_A, UPDATE_A, ADD_B, DELETE_A, DELETE_A, server=replace(DELETED, repeated=True))),
        told(
            ADD_A,
            UPDATE_A,
            Told(ToldKind.UPDATE, A1, old=A2),
            UPDATE_A,
            ADD_B,
            server=replace(SERVER, went_back=True),
        ),
    ],
)
def test_what_is_allowed(story: PipelineStory) -> None:
    assert list(broken_rules(story)) == []


@pytest.mark.parametrize(
    ("story", "says"),
    [
        (told(ADD_A, ADD_A, UPDATE_A, ADD_B), "default/a (uid-1, version 1) had already been reported"),
        (told(UPDATE_A, ADD_B), "the addition of this object had not been reported"),
        (told(ADD_A, replace(UPDATE_A, old=A3), ADD_B), "the old object is not the one"),
        (told(ADD_A, UPDATE_A, ADD_B, Told(ToldKind.DELETE, A3)), "the server never had that version"),
        (told(ADD_A, UPDATE_A, replace(UPDATE_A, obj=A1, old=A2), ADD_B), "version 2 came before it"),
        (told(ADD_A, replace(UPDATE_A, stored=A1), ADD_B), "the store still showed default/a (uid-1, version 1)"),
        (told(ADD_A, UPDATE_A, ADD_B, TOMBSTONE_A), "the server never deleted that object"),
        (told(ADD_A, UPDATE_A, ADD_B, replace(TOMBSTONE_A, obj=A1), server=DELETED), "does not hold the last state"),
        (told(ADD_A, UPDATE_A, DELETE_A, DELETE_A, server=DELETED), "this object had not been reported"),
        (told(ADD_A, UPDATE_A, Told(ToldKind.DELETE, OTHER_A)), "another object had been reported"),
        (told(ADD_A, UPDATE_A), "handler 0 lacks default/b"),
        (
            told(ADD_A, ADD_B),
            "handler 0 has default/a (uid-1, version 1), but the server has default/a (uid-1, version 2)",
        ),
        (told(ADD_A, UPDATE_A, ADD_B, server=DELETED), "the store still has default/a"),
        (told(ADD_A, UPDATE_A, ADD_B, synced_after=0), "after 0 calls, before default/a"),
        (told(replace(ADD_A, is_in_initial_list=False), UPDATE_A, ADD_B), "the object was in the initial list"),
        (told(ADD_A, UPDATE_A, replace(ADD_B, is_in_initial_list=True)), "the object was not in the initial list"),
        (replace(RIGHT, store={"default/a": A2}), "the store lacks default/b"),
        (
            replace(RIGHT, first_sync=FirstSync(("default/a", "default/b"), frozenset({"default/b"}))),
            "has_synced() was true before the store had default/a",
        ),
        (replace(RIGHT, first_sync=FirstSync(None, frozenset())), "has_synced() was true before the first list"),
        (replace(RIGHT, has_synced=False), "has_synced() is false"),
        (replace(RIGHT, unsynced_handlers=("handler 0",)), "has_synced() of the registration of handler 0 is false"),
        (replace(RIGHT, unsettled="the store"), "the store did not reach the state of the server"),
        (replace(RIGHT, transforms=True), "the transformer was applied 0 times, not once"),
        (
            told(ADD_A, UPDATE_A, ADD_B, stopped_after=2),
            "a handler was called after stop() had returned: on_add(default/b (uid-2, version 4))",
        ),
        (replace(RIGHT, wrong_indices=["index by-0: wrong"]), "index by-0: wrong"),
        (told(ADD_A, UPDATE_A, ADD_B, most_calls=1), "handler 0 was called after it had been removed: on_update("),
        (replace(RIGHT, open_watches=2), "2 watches are open at once"),
        (replace(RIGHT, watches_left=1), "watches still open after stop(): 1"),
        (replace(RIGHT, threads_left=("pump",)), "threads still run after stop(): pump"),
    ],
)
def test_what_is_not(story: PipelineStory, says: str) -> None:
    assert says in next(broken_rules(story)).text


def test_what_a_handler_takes_to_be_there() -> None:
    assert known_after((ADD_A, UPDATE_A, ADD_B)) == {"default/a": A2, "default/b": B4}
    assert known_after((ADD_A, Told(ToldKind.DELETE, A1))) == {}


PROGRAMS = [
    *SEQUENTIAL.values(),
    *CONCURRENT.values(),
    *CROWDED.values(),
    *(random_program(seed, is_large=True) for seed in range(50)),
]


def test_programs_survive_words() -> None:
    for program in PROGRAMS:
        token = InformerToken(
            "pkg.mod:make",
            program,
            FindingKind.INVARIANT,
            ((0, 3), (2, 1)),
            Granularity.FREE,
            "0a1b2c3d",
            ("built_on",),
        )
        assert TOKENS.decode(TOKENS.encode(token)) == token


def test_damaged_words_are_refused() -> None:
    word = TOKENS.encode(InformerToken("pkg.mod:make", PROGRAMS[0], FindingKind.HANG, ((0, 3),)))
    chosen = random.Random(1)
    for _ in range(300):
        position = chosen.randrange(len("ki1."), len(word))
        damaged = word[:position] + chosen.choice("AZaz09-_!") + word[position + chosen.choice((0, 1, 5)) :]
        try:
            TOKENS.decode(damaged)
        except FormatError:
            continue
    for wrong in ("", "ki1.", "kq1.abc", word[:-3], word + "A"):
        with pytest.raises(FormatError):
            TOKENS.decode(wrong)


class Idle:
    """An informer that does nothing, and all that hangs on it."""

    def __init__(self, server: object) -> None: ...

    def __getattr__(self, name: str) -> object:
        return lambda *_, **__: self

    def list(self) -> tuple[()]:
        return ()


def test_scripts_know_what_the_server_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a change of an object that is not there, or that is, would end them."""
    monkeypatch.setattr(kcache.testing, "settle", lambda seconds=0.3: None)
    monkeypatch.setitem(sys.modules, "idle", SimpleNamespace(make=Idle))
    several = [random_program(seed, is_large=True) for seed in range(200)]
    programs = [replace(program, threads=(tuple(itertools.chain(*program.threads)),)) for program in several]
    assert sum(len(program) for program in programs) > 1000
    for program in (*programs, *SEQUENTIAL.values()):
        code = script(replace(program, resync_seconds=0), "idle:make")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, "script", "exec"), {})
        assert "in server.snapshot()" not in code
        assert "the server has" in printed.getvalue()


def test_scripts_ask_about_objects_that_several_threads_change() -> None:
    program = InformerProgram(
        (Step(StepName.CREATE, "a"),),
        ((Step(StepName.DELETE, "a"), Step(StepName.CREATE, "b")), (Step(StepName.CREATE, "a"),)),
    )
    code = script(program, "idle:make")
    assert "if 'default/a' in server.snapshot():\n    server.delete('a')" in code
    assert "(server.update if 'default/a' in server.snapshot() else server.create)('a'," in code
    assert "\nserver.create('b'," in code


def test_scripts_compile() -> None:
    for program in PROGRAMS:
        for target in ("pkg.mod:make", "path/to/informer.py:Informers.make"):
            compile(script(program, target), "script", "exec")


def test_minimising_leaves_what_is_needed() -> None:
    needed = {Step(StepName.MISS), Step(StepName.DELETE, "a")}
    for seed in range(40):
        program = random_program(seed, is_large=True)
        program = replace(program, threads=(program.threads[0] + tuple(sorted(needed, key=str)), *program.threads[1:]))
        small = minimise(program, lambda candidate: needed <= set(candidate.steps()), seconds=5)
        assert set(small.steps()) == needed
        assert len(small) == 2
        assert len(small.threads) == 1
        assert not small.transforms
        assert not small.resync_seconds


@pytest.mark.parametrize(
    "program",
    [
        InformerProgram(handlers=10**12),
        InformerProgram(resync_seconds=1e300),
        InformerProgram(threads=()),
        InformerProgram(threads=((),) * 50),
        InformerProgram((Step(StepName.REFUSE_LISTS, 10**12),)),
        InformerProgram((Step(StepName.SETTLE),) * 5000),
    ],
)
def test_programs_of_hostile_size_are_refused(program: InformerProgram) -> None:
    with pytest.raises(FormatError):
        TOKENS.decode(TOKENS.encode(InformerToken("pkg.mod:make", program, FindingKind.HANG)))


def test_a_program_reads_well() -> None:
    program = InformerProgram((Step(StepName.CREATE, "a"),), ((Step(StepName.STOP),), ()), 2, True, 15)
    assert str(program).splitlines() == [
        "handlers: 2",
        "with a transformer",
        "resync every 15 s",
        "before the start: create('a')",
        "thread 1: stop(0)",
        "thread 2: (nothing)",
    ]


def test_packages_to_instrument_must_be_there() -> None:
    def make(lister_watcher: object) -> object:
        return lister_watcher

    make.kcache_instrument = ["nowhere_to_be_found"]  # type: ignore[attr-defined]
    with pytest.raises(TargetError, match="nowhere_to_be_found"):
        make_informer_target(make, "make")  # type: ignore[arg-type]
