"""Directed programs: small concurrent programs that show usual faults early, built from the vocabulary of a class."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from operator import eq
from typing import Any

from kcache_model.object_types.method_call import LateArgument
from kcache_model.object_types.object_type import ObjectTarget, ObjectType
from kcache_model.object_types.specification import States, as_called, follow, states_before_threads
from kcache_model.object_types.vocabulary import OperationTemplate

from .programs import is_runnable, made_by_threads


def woken(object_type: ObjectType, target: ObjectTarget) -> Iterator[Any]:
    """Yield programs in which a call that waits with a limit is overtaken: the thread that ends the wait calls it, too.

    They show a wait in an ``if`` instead of a ``while``, and what a wait loses that ends in the moment of its limit.
    """
    way = object_type.usual_ways(target)[0]
    specification = object_type.specification(way)
    new: States = (specification.initial(way),)
    small = [list(template.smallest(0)) for template in made_by_threads(object_type, target)]

    def waits(states: States, call: Any) -> bool:
        return follow(specification, states, call)[1].waits

    for calls in small:
        endless = next((call for call in calls if waits(new, call)), None)
        limited = next((call for call in calls if not waits(new, call)), None)
        if endless is None or limited is None:
            continue
        for other in (others[0] for others in small if others is not calls and not waits(new, others[0])):
            if waits(follow(specification, new, other)[0], endless):
                continue
            for threads in (((limited,), (other, limited)), ((limited,), (limited,), (other,))):
                yield from _runnable(object_type, target, way, (), threads)


def filled(object_type: ObjectType, target: ObjectTarget) -> Iterator[Any]:
    """Yield programs of one call in each of two threads, after two calls, one of which adds something for them to use.

    Many faults show only if an object holds two things: a loop skips one, or the wrong one is removed. Others show only
    if something else has happened to what the object holds: it has expired, or has been used.
    """
    way = object_type.usual_ways(target)[0]
    small = [list(template.smallest(0)) for template in made_by_threads(object_type, target)]
    for puts in (calls for calls in small if getattr(calls[0], "puts_in", False)):
        first, *others = puts
        same = max(others, key=lambda one: _in_common(one, first), default=first)
        about = [max(calls, key=lambda one: _in_common(one, first)) for calls in small]
        seconds = (same, *(call for call in about if call.is_write and not getattr(call, "puts_in", False)))
        pairs = itertools.combinations_with_replacement(about, 2)
        writing = (pair for pair in pairs if any(call.is_write for call in pair))
        for pair in sorted(writing, key=lambda pair: (sum(not call.is_write for call in pair), pair[0] == pair[1])):
            for second in seconds:
                yield from _runnable(object_type, target, way, (first, second), tuple((one,) for one in pair))


def contested(object_type: ObjectType, target: ObjectTarget) -> Iterator[Any]:
    """Yield programs in which two calls wait for the same, or a call takes what another one waits for.

    They show a wake-up that reaches the wrong call, or one call too few, and a wait in an ``if``, not in a ``while``.
    """
    way = object_type.usual_ways(target)[0]
    specification = object_type.specification(way)
    small = [list(template.smallest(0)) for template in made_by_threads(object_type, target)]
    changing = [calls[0] for calls in small if calls[0].is_write]
    for before in ((), *((one,) for one in changing), *((one, one) for one in changing)):
        states = states_before_threads(specification, way.with_calls(before, ()))
        if states is None:
            continue

        def after(states: States, call: Any) -> tuple[States, bool]:
            following, outcome = follow(specification, states, as_called(specification, call, 0))
            return following, outcome.waits

        for calls in small:
            wait = next((call for call in calls if after(states, call)[1]), None)
            if wait is None:
                continue
            (block,) = object_type.completed(way.with_calls((), ((wait,),))).threads
            if before and before[-1] == wait and len(block) > 1:  # the block gives back what it has taken
                holders = (block,) * len(before)
                for threads in ((block + block, *holders), (block, block, *holders)):
                    yield from _runnable(object_type, target, way, (), threads, may_wait=True)
            for ends in small:
                following, still_waits = after(states, ends[0])
                if still_waits or after(following, wait)[1]:
                    continue
                end, other = ends[0], ends[-1]
                for threads in (
                    ((wait,), (wait,), (end,)),
                    ((wait,), (end, wait)),
                    ((wait,), (wait,), (end, other)),
                ):
                    yield from _runnable(object_type, target, way, before, threads, may_wait=True)


def overfilled(object_type: ObjectType, target: ObjectTarget) -> Iterator[Any]:
    """Yield programs that add a third thing beside another call: an object for two must then lose one."""
    way = object_type.usual_ways(target)[0]
    templates = made_by_threads(object_type, target)
    small = [list(template.smallest(0)) for template in templates]
    for template in templates:
        puts = _with_each_key(template)
        if len(puts) < 3 or not getattr(puts[0], "puts_in", False):
            continue
        first, second, third = puts[:3]
        about = [max(calls, key=lambda one: _in_common(one, first)) for calls in small]
        for call in (third, *about):
            yield from _runnable(object_type, target, way, (first, second), ((third,), (call,)))


def _with_each_key(template: OperationTemplate) -> list[Any]:
    """Return the operation of a template with each first argument, and the first of the others."""
    if not template.arguments:
        return []
    first, *others = template.arguments
    keys = (key for key in first if not isinstance(key, LateArgument))
    return list(dict.fromkeys(template.make(0, key, *(choice[0] for choice in others)) for key in keys))


def _runnable(
    object_type: ObjectType,
    target: ObjectTarget,
    way: Any,
    before: tuple[Any, ...],
    threads: tuple[Any, ...],
    *,
    may_wait: bool = False,
) -> Iterator[Any]:
    """Yield the program of some calls if it can be run."""
    program = object_type.completed(way.with_calls(before, threads))
    if is_runnable(object_type, target, program, may_wait=may_wait):
        yield program


def _in_common(one: Any, other: Any) -> int:
    """Return how many leading arguments two calls have in common."""
    same = map(eq, map(repr, one.arguments), map(repr, other.arguments))
    return sum(1 for _ in itertools.takewhile(bool, same))
