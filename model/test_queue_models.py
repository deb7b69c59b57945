"""The specifications of queues, line by line; and the search for a linearization of their calls against brute force."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Sequence

import pytest

from kcache_model.errors import FormatError
from kcache_model.history import Call
from kcache_model.object_types.checking import CallsVerdict, check_calls
from kcache_model.object_types.specification import follow
from kcache_model.outcomes import WAITS, Outcome, raised, returned
from kcache_model.queues import operations as op
from kcache_model.queues.codec import decode_program, encode_program
from kcache_model.queues.models import model_of
from kcache_model.queues.operations import CallName, ErrorKind, Operation, Tombstone, Version
from kcache_model.queues.program import QueueKind, QueueOptions, QueueProgram
from kcache_model.queues.script import script
from kcache_model.verdict import Status

KNOWN = QueueOptions(known_objects=True)
ATOMIC = QueueOptions(atomic_events=True)
REPLACED = QueueOptions(emit_delta_type_replaced=True)
TRANSFORMER = QueueOptions(transformer=True)


def v(stamp: str) -> Version:
    return Version(stamp[0], stamp)


NO_KEY = Version(None, "x1")


def outcomes(
    kind: QueueKind, operations: Sequence[Operation], options: QueueOptions = KNOWN, known: Sequence[Version] = ()
) -> list[str]:
    """What the calls give; those that give nothing are left out."""
    model = model_of(kind, options)
    states, found = (model.initial(QueueProgram(kind, options, tuple(known))),), []
    for operation in operations:
        states, outcome = follow(model, states, operation)
        if outcome != returned():
            found.append(str(outcome))
    return found


CASES = {
    "one entry per key, changes in order": (
        [op.add(v("a1")), op.add(v("b1")), op.update(v("a2")), op.pop(), op.pop()],
        {},
        ["[Added a1, Updated a2]", "[Added b1]"],
    ),
    "two deletions are one: the object wins": (
        [op.add(v("a1")), op.delete(Tombstone("a")), op.delete(v("a2")), op.delete(Tombstone("a", v("a3"))), op.pop()],
        {},
        ["[Added a1, Deleted a2]"],
    ),
    "the first of two objects wins": (
        [op.add(v("a1")), op.delete(v("a2")), op.delete(v("a3")), op.pop()],
        {},
        ["[Added a1, Deleted a2]"],
    ),
    "the second of two tombstones wins": (
        [op.add(v("a1")), op.delete(Tombstone("a", v("a2"))), op.delete(Tombstone("a", v("a3"))), op.pop()],
        {},
        ["[Added a1, Deleted tombstone(a, a3)]"],
    ),
    "an unknown deletion is dropped, and counts as populated": (
        [op.delete(v("a1")), op.has_synced(), op.length(), op.pop()],
        {},
        ["True", "0", "waits"],
    ),
    "a known one is delivered": ([op.delete(v("a2")), op.pop()], {"known": [v("a1")]}, ["[Deleted a2]"]),
    "replace": (
        [op.replace(v("a2"), v("b1")), op.pop(), op.pop(), op.has_synced(), op.pop(), op.has_synced()],
        {"known": [v("a1"), v("c1")]},
        ["[initial, Sync a2]", "[initial, Sync b1]", "False", "[initial, Deleted tombstone(c, c1)]", "True"],
    ),
    "replace deletes what is only queued": (
        [op.add(v("a1")), op.replace(), op.pop()],
        {},
        ["[Added a1, Deleted tombstone(a, a1)]"],
    ),
    "no second deletion, and no nested tombstone": (
        [op.delete(Tombstone("a", v("a2"))), op.replace(), op.pop()],
        {"known": [v("a1")]},
        ["[Deleted tombstone(a, a2)]"],
    ),
    "deleted and listed again": (
        [op.delete(v("a2")), op.replace(v("a3")), op.pop()],
        {"known": [v("a1")]},
        ["[Deleted a2, Sync a3]"],
    ),
    "a failing replace keeps what came before": (
        [op.replace(v("a1"), NO_KEY), op.length(), op.has_synced(), op.pop()],
        {},
        ["key_func error", "1", "False", "[initial, Sync a1]"],
    ),
    "a list names a key twice": (
        [op.replace(v("a1"), v("a2")), op.pop(), op.has_synced()],
        {},
        ["[initial, Sync a1, Sync a2]", "True"],
    ),
    "an empty first list": ([op.has_synced(), op.replace(), op.has_synced()], {}, ["False", "True"]),
    "an add that fails counts as populated": ([op.add(NO_KEY), op.has_synced()], {}, ["key_func error", "True"]),
    "a delete that fails does not": ([op.delete(NO_KEY), op.has_synced()], {}, ["key_func error", "False"]),
    "resync": (
        [op.update(v("a2")), op.resync(), op.pop(), op.pop(), op.pop()],
        {"known": [v("a1"), v("b1")]},
        ["[Updated a2]", "[Sync b1]", "waits"],
    ),
    "what process raises comes out, and the item is gone": (
        [op.add(v("a1")), op.pop(fails=True), op.known(), op.pop()],
        {},
        ["[Added a1, raised]", "[]", "waits"],
    ),
    "close": (
        [op.add(v("a1")), op.close(), op.is_closed(), op.pop(), op.pop(), op.add(v("a2")), op.pop()],
        {},
        ["True", "[Added a1]", "closed error", "[Added a2]"],
    ),
    "key of": ([op.key_of(v("a1")), op.key_of(Tombstone("b")), op.key_of(NO_KEY)], {}, ["a", "b", "key_func error"]),
    "replaced": ([op.replace(v("a1")), op.pop()], {"options": REPLACED}, ["[initial, Replaced a1]"]),
    "the transformer runs on a replacement, whatever it is called, not on tombstones and resyncs": (
        [op.replace(v("a1")), op.delete(Tombstone("a", v("a2"))), op.pop()],
        {"options": TRANSFORMER},
        ["[initial, Sync a1', Deleted tombstone(a, a2)]"],
    ),
    "a rejected object": (
        [op.add(Version("a", "a1", is_rejected=True)), op.has_synced(), op.length()],
        {"options": TRANSFORMER},
        ["transformer error", "True", "0"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_delta_fifo(case: str) -> None:
    operations, arguments, expected = CASES[case]
    assert outcomes(QueueKind.DELTA_FIFO, operations, **arguments) == expected


def test_fifo() -> None:
    a1, a2, b1 = v("a1"), v("a2"), v("b1")
    plain = QueueOptions()
    newest = [op.add(a1), op.add(b1), op.update(a2), op.pop(), op.pop(), op.pop()]
    assert outcomes(QueueKind.FIFO, newest, plain) == ["[a2]", "[b1]", "waits"]
    taken_out = [op.add(a1), op.add(b1), op.delete(a2), op.length(), op.pop(), op.length()]
    assert outcomes(QueueKind.FIFO, taken_out, plain) == ["1", "[b1]", "0"]
    first_place = [op.add(a1), op.add(b1), op.delete(a1), op.add(a2), op.pop(), op.pop(), op.pop()]
    assert outcomes(QueueKind.FIFO, first_place, plain) == ["[a2]", "[b1]", "waits"]
    replaced = [op.add(a1), op.replace(b1), op.pop(), op.pop()]
    assert outcomes(QueueKind.FIFO, replaced, plain) == ["[b1]", "waits"]


def test_the_order_of_a_fifo_after_replace_is_open() -> None:
    model = model_of(QueueKind.FIFO, QueueOptions())
    for first, second in itertools.permutations(("a1", "b1")):
        states, _ = follow(model, (model.initial(QueueProgram(QueueKind.DELTA_FIFO)),), op.replace(v("a1"), v("b1")))
        states, outcome = follow(model, states, op.pop(), returned(("initial", first)))
        assert str(outcome) == f"[initial, {first}]"
        assert str(follow(model, states, op.pop())[1]) == f"[initial, {second}]"


def test_real_fifo() -> None:
    real = QueueKind.REAL_FIFO
    each = [op.add(v("a1")), op.update(v("a2")), op.delete(v("a3")), op.delete(v("b1")), *[op.pop()] * 4]
    assert outcomes(real, each) == ["[Added a1]", "[Updated a2]", "[Deleted a3]", "[Deleted b1]"]
    replaced = [op.replace(v("a2"), v("b1")), *[op.pop()] * 3, op.has_synced()]
    assert outcomes(real, replaced, known=[v("a1"), v("c1")]) == [
        "[initial, Deleted tombstone(c, c1)]",
        "[initial, Replaced a2]",
        "[initial, Replaced b1]",
        "True",
    ]
    assert outcomes(real, [op.add(NO_KEY), op.length()]) == ["key_func error", "0"]
    events = [op.replace(v("a1"), resource_version="5"), op.resync(), op.bookmark("9"), *[op.pop()] * 3]
    options = dataclasses.replace(ATOMIC, emit_delta_type_bookmark=True)
    assert outcomes(real, events, options) == ["[initial, ReplacedAll [a1] at '5']", "[SyncAll]", "[Bookmark 9]"]
    assert outcomes(real, [op.bookmark("9"), op.pop()], ATOMIC) == ["waits"]
    # A list is handed out as it is; nobody can store what has no key.
    assert outcomes(real, [op.replace(NO_KEY, v("a1")), op.pop(), op.known()], ATOMIC)[-1] == "[a1]"


def test_batches() -> None:
    real = QueueKind.REAL_FIFO
    writes = [op.add(v("a1")), op.add(v("b1")), op.update(v("a2")), op.add(v("c1"))]
    assert outcomes(real, [*writes, op.pop_batch(), op.pop_batch()]) == [
        "[batch, Added a1, Added b1]",
        "[batch, Updated a2, Added c1]",
    ]
    first_list = [op.replace(v("a1"), v("b1")), op.add(v("c1")), op.pop_batch(), op.pop_batch()]
    assert outcomes(real, first_list) == ["[initial, batch, Replaced a1, Replaced b1]", "[single, Added c1]"]
    atomic = [op.add(v("a1")), op.resync(), op.pop_batch(), op.pop_batch()]
    assert outcomes(real, atomic, ATOMIC) == ["[single, Added a1]", "[single, SyncAll]"]


def test_programs_survive_json_and_scripts_are_python() -> None:
    program = QueueProgram(
        QueueKind.DELTA_FIFO,
        QueueOptions(known_objects=True, transformer=True),
        (Version("a", "a1", transformed=1),),
        (op.delete(Tombstone("a", v("a2"))), op.add(Version(None, "x1", is_rejected=True)), op.replace(v("b1"))),
        ((op.pop(fails=True), op.pop(applies=False)), (op.close(), op.length(), op.known())),
    )
    assert decode_program(encode_program(program)) == program
    compile(script(program, "kcache.queues:DeltaFIFO", {(0, 1): "gave nothing"}), "script", "exec")
    with pytest.raises(FormatError, match="unknown kind of queue"):
        decode_program({"kind": "stack"})
    with pytest.raises(FormatError, match="lacks object"):
        decode_program({"kind": "fifo", "prefix": [{"op": "add"}]})


def test_a_script_runs(capsys: pytest.CaptureFixture[str]) -> None:
    steps = (op.add(v("b1")), op.replace(v("a2")), op.pop(), op.pop(), op.pop())
    program = QueueProgram(QueueKind.DELTA_FIFO, KNOWN, (v("c1"),), steps)
    exec(script(program, "kcache.queues:DeltaFIFO"), {})
    assert capsys.readouterr().out.splitlines() == [
        "[('Added', {'key': 'b', 'version': 'b1'}), ('Deleted', DeletedFinalStateUnknown(key='b', "
        "obj={'key': 'b', 'version': 'b1'}))] False",
        "[('Sync', {'key': 'a', 'version': 'a2'})] False",
        "[('Deleted', DeletedFinalStateUnknown(key='c', obj={'key': 'c', 'version': 'c1'}))] False",
    ]


def random_program(rng: random.Random, size: int) -> QueueProgram:
    kind = rng.choice(list(QueueKind))
    options = {
        QueueKind.FIFO: [QueueOptions()],
        QueueKind.DELTA_FIFO: [KNOWN, REPLACED],
        QueueKind.REAL_FIFO: [KNOWN, ATOMIC],
    }[kind]
    stamps = itertools.count(1)

    def version() -> Version:
        key = rng.choice("ab")
        return Version(key, f"{key}{next(stamps)}")

    def operation() -> Operation:
        name = rng.choice([CallName.POP] * 5 + [name for name in CallName if name is not CallName.KEY_OF])
        if name is CallName.POP_BATCH and kind is not QueueKind.REAL_FIFO:
            name = CallName.POP
        if name is CallName.REPLACE:
            return op.replace(*(version() for _ in range(rng.randrange(3))))
        is_single = name in (CallName.ADD, CallName.UPDATE, CallName.DELETE)
        return Operation(name, version() if is_single else None)

    chosen = rng.choice(options)
    known = (v("a0"),) if chosen.known_objects else ()
    return QueueProgram(kind, chosen, known, tuple(operation() for _ in range(size)))


def random_calls(rng: random.Random, program: QueueProgram) -> list[Call[Operation]]:
    """Calls in random intervals; outcomes of a random order of them, some of them spoiled."""
    size = len(program.prefix)
    times = rng.sample(range(20), 2 * size) if rng.random() < 0.7 else [rng.randrange(8) for _ in range(2 * size)]
    spans = [sorted(times[2 * number : 2 * number + 2]) for number in range(size)]
    model = model_of(program.kind, program.options)
    states: tuple[object, ...] = (model.initial(program),)
    gave: dict[int, Outcome] = {}
    for number in sorted(range(size), key=lambda number: spans[number][rng.randrange(2)]):
        after, outcome = follow(model, states, program.prefix[number])
        gave[number] = raised(ErrorKind.CLOSED) if outcome is WAITS else outcome
        states = after
    if rng.random() < 0.4:
        one, other = rng.randrange(size), rng.randrange(size)
        gave[one], gave[other] = gave[other], gave[one]
    return [
        Call(number, operation, spans[number][0], spans[number][1], gave[number])
        for number, operation in enumerate(program.prefix)
    ]


def checked(program: QueueProgram, calls: Sequence[Call[Operation]]) -> CallsVerdict:
    model = model_of(program.kind, program.options)
    return check_calls(model, model.initial(program), calls)


def is_linearizable_by_brute_force(program: QueueProgram, calls: Sequence[Call[Operation]]) -> bool:
    model = model_of(program.kind, program.options)
    for order in itertools.permutations(calls):
        if any(later.returned < earlier.invoked for earlier, later in itertools.combinations(order, 2)):
            continue
        states: tuple[object, ...] = (model.initial(program),)
        for call in order:
            states, expected = follow(model, states, call.operation, call.outcome)
            if expected.waits or not call.outcome.agrees_with(expected):
                break
        else:
            return True
    return False


@pytest.mark.parametrize("seed", range(4))
def test_the_search_agrees_with_brute_force(seed: int) -> None:
    rng = random.Random(seed)
    answers = []
    for _ in range(800):
        program = random_program(rng, rng.randint(1, 5))
        calls = random_calls(rng, program)
        verdict = checked(program, calls)
        assert (verdict.status is Status.OK) == is_linearizable_by_brute_force(program, calls)
        answers.append(verdict.status)
    assert 0.2 < answers.count(Status.OK) / len(answers) < 0.9, "both answers are to be seen"


def test_a_violation_says_what_is_wrong() -> None:
    program = QueueProgram(QueueKind.FIFO)
    calls = [
        Call(0, op.add(v("a1")), 0, 1, returned()),
        Call(1, op.pop(), 2, 3, returned(("b1",))),
    ]
    verdict = checked(program, calls)
    assert verdict.wrong == calls[1]
    assert verdict.reason == (
        "Thread 2: queue.pop(process) returned [b1]. No sequential order of these calls gives that. "
        "Closest: queue.add(a1), then queue.pop(process), which returns [a1]."
    )
