"""Concurrent programs of object types, built from their vocabulary: random programs, and all programs of a small scope.

In a program, a thread may wait forever only if that can be judged. Programs under stress never wait forever.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from kcache_model.bound import Bound
from kcache_model.call_program import Cancelled
from kcache_model.errors import TargetError
from kcache_model.object_types.method_call import MethodCall
from kcache_model.object_types.object_type import ObjectTarget, ObjectType
from kcache_model.object_types.specification import (
    Specification,
    States,
    as_called,
    follow,
    may_wait_for_ever,
    states_before_threads,
)
from kcache_model.object_types.vocabulary import OperationTemplate, alphabet, random_operation, same_keys
from kcache_model.thread_time import own_seconds
from kcache_stress.interruption import is_interrupted

from ..phases.suite_options import SuiteOptions

SHAPES: Final = ((1, 1), (1, 1), (2, 1), (1, 2), (2, 2), (1, 1, 1))
"""Shapes of small programs: the number of calls of each thread."""

LARGER_SHAPES: Final = ((3, 1), (2, 3), (1, 1, 2), (2, 1, 1))

_ATTEMPTS: Final = 200
_MOST_SORTED: Final = 5_000
"""Programs of a size that are put into another order before the first is explored. Whether one waits is found out when
it is its turn, because that takes some replays of its calls."""
_MOST_PAIRS: Final = 60
"""Pairs of calls that are tried before a call that raises after fewer calls."""
_RARE: Final = 0.1
"""The weight, before the threads, of a call that no thread makes. A container has about twenty such calls."""


class NoProgramError(TargetError):
    """No concurrent program of the target was found in which no thread may wait forever."""


def shapes_within(threads: int, calls: int) -> tuple[tuple[int, ...], ...]:
    """Return the shapes with two to ``threads`` threads and at most ``calls`` calls of each thread."""
    sizes = range(1, calls + 1)
    return tuple(
        shape for count in range(2, threads + 1) for shape in itertools.combinations_with_replacement(sizes, count)
    )


def litmus_tests(object_type: ObjectType, target: ObjectTarget) -> Iterator[Any]:
    """Yield the type's litmus tests that the target supports and in which no thread may wait forever."""
    for program in object_type.litmus_tests(target):
        if is_allowed(target, program) and not may_wait_forever(object_type, program):
            yield program


def lonely_calls(object_type: ObjectType, target: ObjectTarget) -> Iterator[Any]:
    """Yield each call that may wait forever on a new object, alone: it may wait for another thread, not for itself."""
    for way in object_type.usual_ways(target):
        for template in made_by_threads(object_type, target):
            call, specification = next(template.smallest(0)), object_type.specification(way)
            program = way.with_calls((), ((call,),))
            if template.name in getattr(specification, "spinning", ()):
                continue
            waits = follow(specification, (specification.initial(way),), as_called(specification, call, 0))[1].waits
            if is_allowed(target, program) and waits:
                yield program


def each_call(object_type: ObjectType, target: ObjectTarget, deadline: float = float("inf")) -> Iterator[Any]:
    """Yield, for each call, a program of two threads that make it, after calls that let it return.

    The calls before it are made by the same threads, because only the thread that has taken a lock may release it. If
    two such threads may wait forever, the second thread makes another call.
    No programs follow once ``deadline`` has passed, on the clock of ``own_seconds``, because creating an object may be
    slow. That clock does not depend on other processes.
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
                wanted = (one for one in valid if not may_wait_forever(object_type, one, is_late))
                yield from itertools.islice(wanted, 1)
                break


def _returns(specification: Specification[Any, Any], program: Any, call: Any) -> bool:
    """Whether a call returns normally at its position in a program of one thread."""
    states: States = (specification.initial(program),)
    is_normal = False
    for operation in program.prefix:
        states, outcome = follow(specification, states, operation)
        if outcome.waits:
            return False
        if operation == call:
            is_normal = outcome.error is None
    return is_normal


def random_program(
    seed: int,
    object_type: ObjectType,
    target: ObjectTarget,
    shapes: Sequence[tuple[int, ...]] = SHAPES,
    is_over: Callable[[], bool] = lambda: False,
    *,
    may_wait: bool = False,
) -> Any:
    """Return a random program; if a thread might wait forever, a call that unblocks all threads comes last.

    Args:
        seed: of the choices.
        object_type: of the target.
        target: the target.
        shapes: the numbers of calls of the threads, one of which is chosen.
        is_over: whether no further program is tried.
        may_wait: whether a thread may wait forever, if that can be judged.

    Raises:
        NoProgramError: none was found, or ``is_over`` before one was found: each attempt replays calls, which may wait.
    """
    rng = random.Random(seed)
    vocabulary = made_by_threads(object_type, target)
    # Half of the programs have one key: of three, four calls have the same one in 4 % of the others.
    keys = same_keys(vocabulary, random.Random(seed)) if seed % 2 else {}
    for _ in range(_ATTEMPTS):
        if is_over():
            break
        program = _drawn(rng, object_type, target, vocabulary, shapes, keys)
        is_judged = may_wait and judges_waits(object_type, program)
        if not is_judged and may_wait_forever(object_type, program) and object_type.unblock is not None:
            position = rng.randrange(len(program.threads))
            last = (*program.threads[position], object_type.unblock)
            threads = (*program.threads[:position], last, *program.threads[position + 1 :])
            program = program.with_calls(program.prefix, threads)
        is_wanted = object_type.is_valid(program) and any(operation.is_write for operation in program.operations())
        if is_wanted and (is_judged or not may_wait_forever(object_type, program)):
            return program
    raise NoProgramError(f"no program of {object_type.name} was found in which no thread waits forever")


def small_scope(
    object_type: ObjectType, target: ObjectTarget, bound: Bound, deadline: float = float("inf")
) -> Iterator[Any]:
    """Yield all programs of a bound, in each usual configuration of the object, after no call or after one write.

    Calls that may wait on a new object come first, alone. Programs that differ only in the order of their threads occur
    once; programs without writes are left out, and programs in which a thread may wait forever if that cannot be
    judged. No programs follow once ``deadline`` has passed, on the clock of ``time.monotonic``, or the user stops the
    run.
    """
    yield from lonely_calls(object_type, target)
    yield from _returning(object_type, _candidates(object_type, target, bound, deadline))


def scope_by_size(
    object_type: ObjectType,
    target: ObjectTarget,
    bound: Bound,
    is_over: Callable[[], bool] = lambda: False,
    waiting: list[Any] | None = None,
) -> Iterator[Any]:
    """Yield the programs of :func:`small_scope` that have threads; programs with short threads come first.

    Among programs with one call for each thread, programs whose calls have the same key come first, and among these,
    programs after a call with a key: two threads that read and delete different or missing keys show nothing. Programs
    with calls that a class of the standard library defines come last. No programs follow once ``is_over``. Programs
    that are left out, because a thread may wait forever and that cannot be judged, are added to ``waiting``.
    """
    inherited = {template.name for template in object_type.vocabulary if template.is_inherited and template.weight}
    own = replace(object_type, vocabulary=tuple(one for one in object_type.vocabulary if one.name not in inherited))
    for operations in range(1, bound.operations + 1):
        programs = _candidates(own, target, Bound(bound.threads, operations), longest=operations, is_over=is_over)
        some = list(itertools.islice(programs, _MOST_SORTED))
        random.Random(0).shuffle(some)  # neighbours in the plain order differ in one call only
        if operations == 1:
            some.sort(key=_unrelated)
        yield from _returning(own, itertools.chain(some, programs), is_over, waiting)
    for operations in range(1, bound.operations + 1) if inherited else ():
        bound_now = Bound(bound.threads, operations)
        programs = _candidates(object_type, target, bound_now, longest=operations, is_over=is_over)
        for program in _returning(object_type, programs, is_over, waiting):
            if any(operation.name in inherited for operation in program.operations()):
                yield program


def _unrelated(program: Any) -> tuple[int, bool, str]:
    """Return a sort key: the number of keys beyond one, whether no call with a key comes before, and the key.

    Programs that differ only in the name of the key show the same faults.
    """
    calls = [*program.prefix, *(operation for thread in program.threads for operation in thread)]
    keyed = [call for call in calls if isinstance(call, MethodCall) and call.arguments]
    keys = {repr(call.arguments[0]) for call in keyed}
    has_key_before = any(call in program.prefix for call in keyed)
    return max(len(keys) - 1, 0), not has_key_before, min(keys, default="")


def _returning(
    object_type: ObjectType,
    programs: Iterable[Any],
    is_over: Callable[[], bool] = lambda: False,
    waiting: list[Any] | None = None,
) -> Iterator[Any]:
    """Yield the programs whose waits can be judged, until ``is_over``; add the others to ``waiting``.

    Programs are left out in which a call before the threads waits forever.
    """
    for program in programs:
        if is_over():
            return
        specification = object_type.specification(program)
        # Of a call that is cancelled, it is not known whether it has waked others.
        is_judged = judges_waits(object_type, program) and not object_type.is_on_loop
        if is_judged or not may_wait_forever(object_type, program, is_over):
            if begins(specification, program):
                yield program
        elif waiting is not None and begins(specification, program):
            waiting.append(program)


def begins(specification: Specification[Any, Any], program: Any) -> bool:
    """Whether no call before the threads waits forever."""
    return getattr(specification, "never_waits", False) or states_before_threads(specification, program) is not None


def judges_waits(object_type: ObjectType, program: Any) -> bool:
    """Whether executions can be judged in which calls wait forever: not if threads of the class may run at any time.

    Executions in which a call loops forever take long, and prove nothing.
    """
    specification = object_type.specification(program)
    polling = getattr(specification, "polling", ())
    polls = any(getattr(operation, "name", "") in polling for operation in program.operations())
    return not (polls or getattr(specification, "starts_threads", False))


def waiting_programs(object_type: ObjectType, target: ObjectTarget, bound: Bound, returning: int) -> int:
    """Return the number of programs of a bound that are left out, because a thread may wait forever.

    Args:
        object_type: of the target.
        target: the target.
        bound: the bound.
        returning: the number of its programs with threads that are not left out.
    """
    candidates = _candidates(object_type, target, bound)
    return sum(begins(object_type.specification(program), program) for program in candidates) - returning


def _candidates(
    object_type: ObjectType,
    target: ObjectTarget,
    bound: Bound,
    deadline: float = float("inf"),
    longest: int = 0,
    is_over: Callable[[], bool] = lambda: False,
) -> Iterator[Any]:
    """Yield the programs of a bound that have threads, one of which makes at least ``longest`` calls.

    A thread of such a program may wait forever.
    """
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
                    if object_type.is_valid(program):
                        yield program


def is_runnable(object_type: ObjectType, target: ObjectTarget, program: Any, *, may_wait: bool = False) -> bool:
    """Whether a program is valid and allowed, and no thread may wait forever, or it ``may_wait`` and can be judged."""
    if not (object_type.is_valid(program) and is_allowed(target, program)):
        return False
    if may_wait and judges_waits(object_type, program):
        return begins(object_type.specification(program), program)
    return not may_wait_forever(object_type, program)


def offered(object_type: ObjectType, target: ObjectTarget) -> tuple[OperationTemplate, ...]:
    """Return the part of the vocabulary that a target offers."""
    return tuple(
        template
        for template in object_type.vocabulary
        if not template.ends and any(target.allows_call(operation) for operation in template.smallest(0))
    )


def made_by_threads(object_type: ObjectType, target: ObjectTarget) -> tuple[OperationTemplate, ...]:
    """Return the calls of a target that threads make; its other calls are made before the threads start."""
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


def is_allowed(target: ObjectTarget, program: Any) -> bool:
    """Whether the objects of a target offer everything that a program needs."""
    return all(map(target.allows_call, program.operations()))


def may_wait_forever(object_type: ObjectType, program: Any, is_late: Callable[[], bool] = lambda: False) -> bool:
    """Whether some order of the calls of a program ends with threads that wait forever."""
    return may_wait_for_ever(object_type.specification(program), program, is_late)


def with_cancellations(object_type: ObjectType, program: Any, options: SuiteOptions, usual: int = 0) -> Any:
    """Return the program with the cancellations of the options in each execution, if its calls are awaited.

    Args:
        object_type: of the target.
        program: the program.
        options: the options of the run.
        usual: the number of cancellations if the options have none.
    """
    number = usual if options.cancel is None else options.cancel
    if not number or not object_type.is_on_loop:
        return program
    return replace(program, cancellations=number, cancelled=options.cancelled or Cancelled.USUAL)
