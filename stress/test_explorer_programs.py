"""All small programs of the explorer, each kind once."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

import kcache
from kcache_model.bound import Bound, parse_bound
from kcache_model.indexers import operations as op
from kcache_model.indexers.codec import decode_program, encode_program
from kcache_model.indexers.items import Item, Semantics
from kcache_model.indexers.operations import INDEX_OPERATIONS, OPTIONAL_OPERATIONS, WRITES, Operation, OperationName
from kcache_model.indexers.program import Program
from kcache_model.indexers.target import Target, make_target
from kcache_model.indexers.vocabulary import CallTemplate
from kcache_stress.indexers.programs.alphabet import STORES, Maker, alphabet, fill
from kcache_stress.indexers.programs.footprints import every_call_meets
from kcache_stress.indexers.programs.random_programs import explorer_program
from kcache_stress.indexers.programs.small_scope import count_small_scope, small_scope_programs
from kcache_stress.indexers.programs.symmetry import canonical
from kcache_stress.indexers.workload import random_program

REFERENCE = make_target(kcache.new_indexer, "reference")
PLAIN_STORE = make_target(kcache.new_indexer, "store", ["indexes"])


def only(*names: OperationName) -> Target:
    return make_target(kcache.new_indexer, "few", [name.value for name in OperationName if name not in names])


CORE = only(
    OperationName.ADD, OperationName.DELETE, OperationName.GET_BY_KEY, OperationName.LIST, OperationName.BY_INDEX
)


@functools.cache
@functools.cache
def programs(bound: str, target: Target = REFERENCE) -> Sequence[Program]:
    """All programs of a bound: thousands, which several tests look at."""
    return tuple(small_scope_programs(parse_bound(bound), target, Semantics.CLASSIC))


# Bounds


def test_bounds_are_parsed() -> None:
    assert parse_bound("2x2") == Bound(threads=2, operations=2)
    assert parse_bound(" 3x1 ") == Bound(threads=3, operations=1)
    assert str(parse_bound("4x4")) == "4x4"


@pytest.mark.parametrize("text", ["", "2", "2x", "x2", "2 x 2", "2X2", "-2x2", "2x2x2", "two by two", "2x99999"])
def test_what_is_no_bound_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a bound; write THREADSxOPERATIONS, such as 2x2"):
        parse_bound(text)


@pytest.mark.parametrize("text", ["1x2", "0x0", "2x0"])
def test_a_bound_must_leave_room_for_two_threads(text: str) -> None:
    with pytest.raises(ValueError, match="is too small for a concurrent program; the smallest bound is 2x1"):
        parse_bound(text)


@pytest.mark.parametrize("text", ["5x1", "2x5", "999x999"])
def test_bounds_whose_end_nobody_would_see_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="would take too long; the largest bound is 4x4"):
        parse_bound(text)


# Symmetry, by brute force: every program there is, and every way to rename two keys, two values and two threads.


def brute_force(target: Target, sizes: Iterable[tuple[int, ...]]) -> Iterator[Program]:
    """All programs that the documentation promises, in every order of the threads and with every name."""
    operation_templates = alphabet(target)
    for lengths in sizes:
        words = [list(itertools.product(operation_templates, repeat=length)) for length in lengths]
        for store, threads in itertools.product(STORES, itertools.product(*words)):
            program = made(target, store, threads)
            if is_promised(program, store, tuple(itertools.chain(*threads))):
                yield program


def made(target: Target, store: tuple[str, ...], threads: tuple[tuple[CallTemplate, ...], ...]) -> Program:
    late = any(letter.name is OperationName.ADD_INDEXERS for thread in threads for letter in thread)
    prefix = fill(Maker("p", target, late), store, target)
    assert prefix is not None
    operations = tuple(
        tuple(letter.make(Maker(f"{number}.{position}", target, late)) for position, letter in enumerate(thread))
        for number, thread in enumerate(threads)
    )
    return Program(("node",), prefix, operations)


def is_promised(program: Program, store: tuple[str, ...], chosen: tuple[CallTemplate, ...]) -> bool:
    if len(chosen) == 2:
        return any(letter.name in WRITES for letter in chosen)
    if not every_call_meets(program):
        return False
    if len(chosen) == len(program.threads):
        return True
    guests = [letter for letter in chosen if letter.group]
    if len({guest.group for guest in guests}) > 1 or sum(guest.name in WRITES for guest in guests) > 1:
        return False
    return not guests or len(chosen) < 4 or store == ("ax",)


Change = Callable[[Program], Program]


def swapping(first: str, second: str) -> Change:
    """Swaps two names of keys or of index values."""
    names = {first: second, second: first}

    def name(old: Any) -> Any:
        return names.get(old, old)

    def item(old: Item) -> Item:
        values = {index: tuple(map(name, found or ())) for index, found in old.values.items()}
        return replace(old, key=name(old.key), values=values)

    def change(operation: Operation) -> Operation:
        return replace(operation.with_items(item), key=name(operation.key), value=name(operation.value))

    return lambda program: each_operation(program, change)


def each_operation(program: Program, change: Callable[[Operation], Operation]) -> Program:
    threads = tuple(tuple(map(change, thread)) for thread in program.threads)
    return replace(program, prefix=tuple(map(change, program.prefix)), threads=threads)


def numbered(program: Program) -> Program:
    """Stamps and versions by order of appearance, nothing else."""
    stamps: dict[str, str] = {}
    versions = {"": ""}

    def change(operation: Operation) -> Operation:
        operation = operation.with_items(
            lambda item: replace(item, stamp=stamps.setdefault(item.stamp, str(len(stamps))))
        )
        version = versions.setdefault(operation.resource_version, str(len(versions)))
        return replace(operation, resource_version=version)

    return each_operation(program, change)


GENERATORS: tuple[Change, ...] = (
    swapping("a", "b"),
    swapping("x", "y"),
    lambda program: replace(program, threads=program.threads[::-1]),
    lambda program: replace(program, threads=(*program.threads[1:], *program.threads[:1])),
)


def orbits(every: Iterable[Program]) -> dict[Program, int]:
    """Program -> the number of its class; two programs are in a class if a chain of changes leads there."""
    class_of: dict[Program, int] = {}
    count = itertools.count()
    for program in map(numbered, every):
        if program in class_of:
            continue
        number, found = next(count), [program]
        while found:
            member = found.pop()
            if member not in class_of:
                class_of[member] = number
                found += [numbered(change(member)) for change in GENERATORS]
    return class_of


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("bound", "sizes", "target"),
    [
        pytest.param("2x1", [(1, 1)], REFERENCE, marks=pytest.mark.nightly),
        pytest.param(
            "3x1",
            [(1, 1), (1, 1, 1)],
            only(OperationName.ADD, OperationName.BY_INDEX),
            marks=pytest.mark.nightly,
        ),
        ("2x2", [(1, 2), (2, 1)], only(OperationName.ADD, OperationName.BY_INDEX)),
        pytest.param(
            "2x2",
            [(1, 1), (1, 2), (2, 1), (2, 2)],
            only(OperationName.UPDATE, OperationName.DELETE, OperationName.LIST),
            marks=pytest.mark.nightly,
        ),
    ],
    ids=["two calls of all kinds", "three threads", "three calls", "four calls"],
)
def test_each_class_of_programs_is_met_exactly_once(bound: str, sizes: list[tuple[int, ...]], target: Target) -> None:
    every = list(brute_force(target, sizes))
    class_of = orbits(every)
    found = [program for program in programs(bound, target) if tuple(map(len, program.threads)) in sizes]
    representatives = {program: class_of[numbered(program)] for program in map(with_test_names, found)}
    assert len(set(representatives.values())) == len(found), "no two are equivalent"
    assert set(representatives.values()) == set(class_of.values()), "none is missing"
    yielded = set(found)
    canonical_of: dict[int, Program] = {}
    for program in every:
        number, form = class_of[numbered(program)], canonical(program)
        assert canonical_of.setdefault(number, form) == form, "one for each class"
        assert canonical_of[number] in yielded
    assert len(set(canonical_of.values())) == len(canonical_of), "another one for another class"


def with_test_names(program: Program) -> Program:
    return swapping("n1", "x")(swapping("n2", "y")(program))


def shuffled(program: Program, rng: random.Random) -> Program:
    """An equivalent program: other names, another order of threads, mappings filled in another order."""
    names: dict[tuple[str, str | None], str] = {}

    def name(kind: str, old: str | None) -> str:
        return names.setdefault((kind, old), f"{kind}{rng.random()}")

    def item(old: Item) -> Item:
        values = [(index, found and tuple(name("n", value) for value in found)) for index, found in old.values.items()]
        return replace(old, key=name("k", old.key), stamp=name("v", old.stamp), values=dict(reversed(values)))

    def change(operation: Operation) -> Operation:
        return replace(
            operation.with_items(item),
            key=operation.key and name("k", operation.key),
            value=operation.value and name("n", operation.value),
            resource_version=operation.resource_version and name("r", operation.resource_version),
        )

    threads = rng.sample(program.threads, len(program.threads))
    return each_operation(replace(program, threads=tuple(threads)), change)


@pytest.mark.parametrize("make", [random_program, explorer_program], ids=["stress", "explorer"])
def test_names_and_the_order_of_threads_do_not_matter(make: Callable[..., Program]) -> None:
    rng = random.Random(1)
    for seed in range(200):
        program = make(seed, REFERENCE, Semantics.CURRENT)
        assert canonical(shuffled(program, rng)) == canonical(program)
        assert canonical(canonical(program)) == canonical(program)


def test_everything_but_names_matters() -> None:
    one, two = Item("a", "v1", {"node": ("x",)}), Item("b", "v2", {"node": ("x",)})
    empty = Program(("node",), (), ((), ()))

    def kind(*threads: tuple[Operation, ...], **fields: Any) -> Program:
        return canonical(replace(empty, threads=threads, **fields))

    programs = [
        kind((op.add(one),), (op.add(two),)),
        kind((op.update(one),), (op.add(two),)),
        kind((op.add(one),), (op.add(replace(two, key="a")),)),
        kind((op.add(one),), (op.add(replace(two, stamp="v1")),)),
        kind((op.add(one),), (op.add(replace(two, values={"node": ("y",)})),)),
        kind((op.add(one),), (op.add(replace(two, values={"zone": ("x",)})),)),
        kind((op.add(one),), (op.add(replace(two, values={"node": None})),)),
        kind((op.add(one),), (op.add(replace(two, values={})),)),
        kind((op.add(one),), (op.add(replace(two, resource_version="")),)),
        kind((op.add(one),), (op.add(replace(two, resource_version="7")),)),
        kind((op.add(one),), (op.add(replace(two, key=None)),)),
        kind((op.add(one), op.add(two)), ()),
        kind((op.add(one), op.add(two))),
        kind((op.replace((one, two)),)),
        kind((op.replace((one, two), "7"),)),
        kind((op.replace((one,)), op.replace((two,)))),
        kind((op.add(one),), (op.add(two),), semantics=Semantics.CURRENT),
        kind((op.add(one),), (op.add(two),), indexes=()),
        kind((op.add(two),), prefix=(op.add(one),)),
    ]
    assert len(set(programs)) == len(programs)


# Small scope


@pytest.mark.parametrize(
    ("bound", "most"), [("2x1", 1_500), ("3x1", 10_500), pytest.param("2x2", 25_000, marks=pytest.mark.nightly)]
)
def test_there_are_few_enough_to_run_them_all(bound: str, most: int) -> None:
    assert most / 2 < (count_small_scope(parse_bound(bound), REFERENCE, Semantics.CLASSIC) or 0) <= most


@pytest.mark.parametrize(("bound", "target"), [("2x1", REFERENCE), ("2x2", PLAIN_STORE)], ids=["indexer", "store"])
def test_they_are_canonical_and_the_smallest_come_first(bound: str, target: Target) -> None:
    found = programs(bound, target)
    lengths = [sum(map(len, program.threads)) for program in found]
    assert lengths == sorted(lengths)
    assert len(set(found)) == len(found)
    for program in found[:: len(found) // 200]:
        assert canonical(program) == program
        assert decode_program(encode_program(program)) == program
        assert any(operation.is_write for thread in program.threads for operation in thread)
        stamps = [item.stamp for operation in program.operations() for item in operation.given]
        assert stamps == [f"v{number + 1}" for number in range(len(stamps))]


@pytest.mark.parametrize("bound", ["2x1", "2x2"])
def test_they_can_be_counted_without_making_them(bound: str) -> None:
    assert count_small_scope(parse_bound(bound), PLAIN_STORE, Semantics.CURRENT) == len(programs(bound, PLAIN_STORE))


def test_every_operation_is_among_them_unless_it_is_not_supported() -> None:
    def names(target: Target) -> set[OperationName]:
        return {operation.name for program in programs("2x1", target) for operation in program.operations()}

    assert names(REFERENCE) == set(OperationName) - {OperationName.MUTATE}
    unsupported = {OperationName.MUTATE} | OPTIONAL_OPERATIONS
    old = make_target(kcache.new_indexer, "old", [name.value for name in OPTIONAL_OPERATIONS])
    assert names(old) == set(OperationName) - unsupported
    assert names(PLAIN_STORE) == set(OperationName) - {OperationName.MUTATE} - INDEX_OPERATIONS


def test_a_plain_store_has_objects_without_values() -> None:
    found = programs("2x2", PLAIN_STORE)
    assert 2_000 < len(found) < 10_000
    assert all(program.indexes == () for program in found)
    assert not any(item.values for program in found for operation in program.operations() for item in operation.given)


@pytest.mark.parametrize("supported", [OperationName.UPDATE, OperationName.REPLACE])
def test_the_store_is_filled_with_whatever_there_is(supported: OperationName) -> None:
    found = programs("2x1", only(supported, OperationName.LIST))
    prefixes = {tuple(operation.name for operation in program.prefix) for program in found}
    assert () in prefixes
    assert {name for prefix in prefixes for name in prefix} == {supported}


def test_a_target_without_writes_has_no_programs() -> None:
    assert programs("2x2", only(OperationName.LIST, OperationName.GET)) == ()


@pytest.mark.one_in(3)
@pytest.mark.one_in(2, start=1)
@pytest.mark.parametrize(
    ("prefix", "threads"),
    [
        ("ax", [["add ay"], ["by_index x"]]),
        ("ax", [["add ay"], ["add bx"]]),
        ("ax", [["add ay", "get a"], ["add ax", "by_index x"]]),
        ("ax bx", [["delete a", "add ay"], ["by_index x", "by_index y"]]),
        ("", [["add ax", "list"], ["add bx", "list"]]),
        ("ax", [["get a", "get a"], ["add ay"]]),
    ],
    ids=[
        "a lookup while its object leaves",
        "one leaves a value as the other joins it",
        "each looks for what the other wrote",
        "two lookups while an object moves",
        "two lists while two objects come",
        "reading twice while it changes",
    ],
)
def test_the_classic_shapes_are_among_them(prefix: str, threads: list[list[str]]) -> None:
    stamps = itertools.count()

    def operation(text: str) -> Operation:
        name, _, rest = text.partition(" ")
        match name:
            case "add":
                return op.add(Item(rest[0], f"s{next(stamps)}", {"node": (rest[1],)}))
            case "delete":
                return op.delete(Item(rest, f"s{next(stamps)}"))
            case "get":
                return op.get_by_key(rest)
            case "by_index":
                return op.by_index("node", rest)
            case _:
                return op.list_objects()

    wanted = Program(
        ("node",),
        tuple(operation(f"add {text}") for text in prefix.split()),
        tuple(tuple(map(operation, thread)) for thread in threads),
    )
    assert canonical(wanted) in programs("2x2", CORE)


def test_larger_bounds_come_one_by_one() -> None:
    found = small_scope_programs(parse_bound("4x4"), REFERENCE, Semantics.CURRENT)
    assert len(list(itertools.islice(found, 2_000))) == 2_000
