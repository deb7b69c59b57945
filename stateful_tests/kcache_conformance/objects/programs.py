"""The concurrent programs of object types, made of their vocabulary: random ones, and all of a small scope.

In none may a thread have to wait for ever, but where a call is made alone.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import eq
from typing import Any, Final

from kcache_model.bound import Bound
from kcache_model.errors import TargetError
from kcache_model.object_types.method_call import MethodCall
from kcache_model.object_types.object_type import ObjectTarget, ObjectType
from kcache_model.object_types.specification import Specification, States, follow, may_wait_for_ever
from kcache_model.object_types.vocabulary import OperationTemplate, alphabet, random_operation, same_keys
from kcache_model.thread_time import own_seconds
from kcache_stress.interruption import is_interrupted

SHAPES: Final = ((1, 1), (1, 1), (2, 1), (1, 2), (2, 2), (1, 1, 1))
"""The calls of each thread of small programs."""

LARGER_SHAPES: Final = ((3, 1), (2, 3), (1, 1, 2), (2, 1, 1))

_ATTEMPTS: Final = 200
_MOST_SORTED: Final = 2_000
"""Programs of a scope that are made before the first is explored: each takes some replays of its calls."""
_MOST_PAIRS: Final = 60
"""Pairs of calls that are tried before a call which raises after fewer."""
_RARE: Final = 0.1
"""The weight of a call that no thread makes, among the calls before the threads. A container has about twenty."""


class NoProgramError(TargetError):
    """No concurrent program of the target was found in which no thread may wait for ever."""


def shapes_within(threads: int, calls: int) -> tuple[tuple[int, ...], ...]:
    """The shapes with at least two threads, at most so many, and at most so many calls of each."""
    sizes = range(1, calls + 1)
    return tuple(
        shape for count in range(2, threads + 1) for shape in itertools.combinations_with_replacement(sizes, count)
    )


def litmus_tests(object_type: ObjectType, target: ObjectTarget) -> Iterator[Any]:
    """Those of the type that the target offers everything for, and in which nobody waits for ever."""
    for program in object_type.litmus_tests(target):
        if _is_allowed(target, program) and not _may_wait_for_ever(object_type, program):
            yield program


def lonely_calls(object_type: ObjectType, target: ObjectTarget) -> Iterator[Any]:
    """Each call that may wait for ever on a new object, alone: it may wait for another thread, not for itself."""
    for way in object_type.usual_ways(target):
        for template in made_by_threads(object_type, target):
            program = way.with_calls((), ((next(template.smallest(0)),),))
            if template.name in getattr(object_type.specification(way), "spinning", ()):
                continue
            if _is_allowed(target, program) and _may_wait_for_ever(object_type, program):
                yield program


def each_call(object_type: ObjectType, target: ObjectTarget, deadline: float = float("inf")) -> Iterator[Any]:
    """For each call a program of two threads that make it, after calls which let it return: none is never made.

    The calls before it are made by the same threads, for only who has taken a lock may give it back. Where two such
    threads may wait for ever, the second makes another call.
    There are no more once ``deadline`` has passed, on the clock of ``own_seconds``: to create an object may be slow. A
    busy machine does not matter.
    """

    def is_late() -> bool:
        return own_seconds() > deadline

    way = object_type.usual_ways(target)[0]
    specification = object_type.specification(way)
    calls = [next(template.smallest(0)) for template in made_by_threads(object_type, target)]
    first = {template.name: next(template.smallest(0)) for template in offered(object_type, target)}
    changing = (call for call in first.values() if call.is_write)
    before = sorted(changing, key=lambda call: not getattr(call, "puts_in", False))
    writes = [call for call in before if call in calls]
    behind = [(*(first[name] for name in getattr(call, "needs", ()) if name in first), call) for call in before]
    pairs = ((*one, *other) for one, other in itertools.permutations(behind, 2))
    prefixes = [(), *behind, *itertools.islice(pairs, _MOST_PAIRS)]
    for call in calls:
        for prefix in prefixes:
            if is_late():
                return
            alone = object_type.completed(way.with_calls((*prefix, call), ()))
            if object_type.is_valid(alone) and _returns(specification, alone, call):
                others = [(*prefix, call), *((one,) for one in writes)]
                both = (object_type.completed(way.with_calls((), ((*prefix, call), other))) for other in others)
                valid = filter(object_type.is_valid, both)
                wanted = (one for one in valid if not _may_wait_for_ever(object_type, one, is_late))
                yield from itertools.islice(wanted, 1)
                break


def _returns(specification: Specification[Any, Any], program: Any, call: Any) -> bool:
    """Whether a call returns normally at its place in a program of one thread."""
    states: States = (specification.initial(program),)
    is_normal = False
    for operation in program.prefix:
        states, outcome = follow(specification, states, operation)
        if outcome.waits:
            return False
        if operation == call:
            is_normal = outcome.error is None
    return is_normal


def filled(object_type: ObjectType, target: ObjectTarget) -> Iterator[Any]:
    """Programs of one call in each of two threads, after two calls that put something in, of which one is asked for.

    Many faults show only where an object holds two things: a loop over them skips one, or the wrong one is taken out.
    """
    way = object_type.usual_ways(target)[0]
    small = [list(template.smallest(0)) for template in made_by_threads(object_type, target)]
    for puts in (calls for calls in small if getattr(calls[0], "puts_in", False)):
        first, *others = puts
        second = max(others, key=lambda one: _in_common(one, first), default=first)
        about = [max(calls, key=lambda one: _in_common(one, first)) for calls in small]
        for pair in itertools.combinations_with_replacement(about, 2):
            program = object_type.completed(way.with_calls((first, second), tuple((one,) for one in pair)))
            is_wanted = object_type.is_valid(program) and any(operation.is_write for operation in pair)
            if is_wanted and _is_allowed(target, program) and not _may_wait_for_ever(object_type, program):
                yield program


def _in_common(one: Any, other: Any) -> int:
    """How many of the leading arguments two calls have in common."""
    same = map(eq, map(repr, one.arguments), map(repr, other.arguments))
    return sum(1 for _ in itertools.takewhile(bool, same))


def random_program(
    seed: int,
    object_type: ObjectType,
    target: ObjectTarget,
    shapes: Sequence[tuple[int, ...]] = SHAPES,
    is_over: Callable[[], bool] = lambda: False,
) -> Any:
    """A random program; where one thread might wait for ever, what lets all go on comes last.

    Raises:
        NoProgramError: there is none, or ``is_over`` before one was found: each attempt replays calls, which may wait.
    """
    rng = random.Random(seed)
    vocabulary = made_by_threads(object_type, target)
    # Half of the programs have one key: of three, four calls have the same one in 4 % of the others.
    keys = same_keys(vocabulary, random.Random(seed)) if seed % 2 else {}
    for _ in range(_ATTEMPTS):
        if is_over():
            break
        program = _drawn(rng, object_type, target, vocabulary, shapes, keys)
        if _may_wait_for_ever(object_type, program) and object_type.unblock is not None:
            position = rng.randrange(len(program.threads))
            last = (*program.threads[position], object_type.unblock)
            threads = (*program.threads[:position], last, *program.threads[position + 1 :])
            program = program.with_calls(program.prefix, threads)
        is_wanted = object_type.is_valid(program) and any(operation.is_write for operation in program.operations())
        if is_wanted and not _may_wait_for_ever(object_type, program):
            return program
    raise NoProgramError(f"no program of {object_type.name} was found in which nobody waits for ever")


def small_scope(
    object_type: ObjectType, target: ObjectTarget, bound: Bound, deadline: float = float("inf")
) -> Iterator[Any]:
    """All programs of a bound: on each usual way of making an object, after no call or one that writes.

    Calls that may wait on a new object come first, alone. Of programs that differ in the order of their threads only,
    there is one; programs that only read, or in which a thread may wait for ever, are left out. There are no more once
    ``deadline`` has passed, on the clock of ``time.monotonic``, or the user asks to stop.
    """
    yield from lonely_calls(object_type, target)
    yield from _concurrent_scope(object_type, target, bound, deadline)


def scope_by_size(
    object_type: ObjectType, target: ObjectTarget, bound: Bound, is_over: Callable[[], bool] = lambda: False
) -> Iterator[Any]:
    """All programs of a bound that have threads, as in :func:`small_scope`; those with short threads come first.

    Of the programs with one call for each thread, those come first whose calls are about the same key, and among them
    those in which a call with a key comes before: two threads that read and delete different keys, or keys that are
    not there, show nothing. Programs with calls that a class of the standard library has written come last. There
    are no more once ``is_over``.
    """
    inherited = {template.name for template in object_type.vocabulary if template.is_inherited and template.weight}
    own = replace(object_type, vocabulary=tuple(one for one in object_type.vocabulary if one.name not in inherited))
    for operations in range(1, bound.operations + 1):
        programs = _concurrent_scope(own, target, Bound(bound.threads, operations), longest=operations, is_over=is_over)
        if operations == 1:
            some = list(itertools.islice(programs, _MOST_SORTED))
            random.Random(0).shuffle(some)  # neighbours of the plain order differ in one call only
            yield from sorted(some, key=_unrelated)
        yield from programs
    for operations in range(1, bound.operations + 1) if inherited else ():
        bound_now = Bound(bound.threads, operations)
        for program in _concurrent_scope(object_type, target, bound_now, longest=operations, is_over=is_over):
            if any(operation.name in inherited for operation in program.operations()):
                yield program


def _unrelated(program: Any) -> tuple[int, bool, str]:
    """Sorts programs: by how many keys they have beside one, by whether no call with a key comes before, by the key.

    Programs that differ in the name of the key only show the same.
    """
    calls = [*program.prefix, *(operation for thread in program.threads for operation in thread)]
    keyed = [call for call in calls if isinstance(call, MethodCall) and call.arguments]
    keys = {repr(call.arguments[0]) for call in keyed}
    has_key_before = any(call in program.prefix for call in keyed)
    return max(len(keys) - 1, 0), not has_key_before, min(keys, default="")


def _concurrent_scope(
    object_type: ObjectType,
    target: ObjectTarget,
    bound: Bound,
    deadline: float = float("inf"),
    longest: int = 0,
    is_over: Callable[[], bool] = lambda: False,
) -> Iterator[Any]:
    """The programs of a bound that have threads, one of which makes at least ``longest`` calls."""
    vocabulary = made_by_threads(object_type, target)
    words = [word for number in range(bound.threads) for word in alphabet(vocabulary, number + 1)]
    letters = [made for made in dict.fromkeys(words) if target.allows_call(made)]
    sequences = [
        sequence for size in range(1, bound.operations + 1) for sequence in itertools.product(letters, repeat=size)
    ]
    before = alphabet(offered(object_type, target), 0)
    first = [made for made in before if made.is_write and target.allows_call(made)]
    for way in object_type.usual_ways(target):
        for size in range(2, bound.threads + 1):
            for threads in itertools.combinations_with_replacement(sequences, size):
                if time.monotonic() > deadline or is_interrupted():
                    return
                is_short = max(map(len, threads)) < longest
                if is_short or not any(operation.is_write for thread in threads for operation in thread):
                    continue
                for prefix in ((), *((operation,) for operation in first)):
                    if is_over():
                        return
                    program = object_type.completed(way.with_calls(prefix, threads))
                    if object_type.is_valid(program) and not _may_wait_for_ever(object_type, program, is_over):
                        yield program


def offered(object_type: ObjectType, target: ObjectTarget) -> tuple[OperationTemplate, ...]:
    """The part of the vocabulary that a target offers."""
    return tuple(
        template
        for template in object_type.vocabulary
        if not template.ends and any(target.allows_call(operation) for operation in template.smallest(0))
    )


def made_by_threads(object_type: ObjectType, target: ObjectTarget) -> tuple[OperationTemplate, ...]:
    """The part of what a target offers that threads call; the rest is called before the threads start."""
    return tuple(template for template in offered(object_type, target) if template.weight)


def _drawn(
    rng: random.Random,
    object_type: ObjectType,
    target: ObjectTarget,
    vocabulary: tuple[OperationTemplate, ...],
    shapes: Sequence[tuple[int, ...]],
    keys: Mapping[str, Any],
) -> Any:
    way = rng.choice(object_type.usual_ways(target))
    numbers = itertools.count(1)

    def drawn(vocabulary: Sequence[OperationTemplate]) -> Any:
        while True:
            operation = random_operation(vocabulary, next(numbers), rng, keys)
            if target.allows_call(operation):
                return operation

    specification = object_type.specification(way)
    states: tuple[Any, ...] = (specification.initial(way),)
    prefix: tuple[Any, ...] = ()
    first = [replace(template, weight=template.weight or _RARE) for template in offered(object_type, target)]
    for _ in range(rng.choice((0, 1, 1, 2))):
        operation = drawn(first)
        after, outcome = follow(specification, states, operation)
        if operation.is_write and not outcome.waits and operation != object_type.unblock:
            prefix, states = (*prefix, operation), after
    threads = tuple(tuple(drawn(vocabulary) for _ in range(size)) for size in rng.choice(shapes))
    return object_type.completed(way.with_calls(prefix, threads))


def _is_allowed(target: ObjectTarget, program: Any) -> bool:
    return all(map(target.allows_call, program.operations()))


def _may_wait_for_ever(object_type: ObjectType, program: Any, is_late: Callable[[], bool] = lambda: False) -> bool:
    return may_wait_for_ever(object_type.specification(program), program, is_late)
