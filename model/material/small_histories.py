"""Random small histories of any object, and a judge too simple to be wrong."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from kcache_model.history import Call
from kcache_model.object_types.plain import Functional, MethodCall
from kcache_model.object_types.vocabulary import random_operation
from kcache_model.outcomes import Outcome
from kcache_model.standard_specifications import Specifies

History = list[Call[MethodCall]]


def is_explained(specification: Specifies, calls: Sequence[Call[MethodCall]]) -> bool:
    """Whether some permutation of the calls, pending ones in it or not, explains all: no pruning, no memory."""
    functional = Functional(specification)

    def explains(state: Any, left: Sequence[Call[MethodCall]]) -> bool:
        if all(call.returned is None for call in left):
            return True
        for call in left:
            rest = [other for other in left if other is not call]
            if any(other.precedes(call) for other in rest):
                continue
            for after, expected in functional.effects(state, call.operation):
                if (call.outcome is None or call.outcome.agrees_with(expected)) and explains(after, rest):
                    return True
        return False

    return explains(specification.initial(), calls)


def random_history(
    specification: Specifies,
    rng: random.Random,
    *,
    calls: int,
    threads: int,
    names: Sequence[str] = (),
    distinct: bool = False,
    pending: float = 0.1,
    patience: float = 0.25,
) -> History:
    """The calls of some threads on an atomic object; every call takes effect at a random moment while it is open.

    Args:
        specification: of the object.
        rng: decides.
        calls: how many.
        threads: at most so many calls are open at once.
        names: the operations to call; by default all.
        distinct: whether a write with arguments gets a new value as its last one each time.
        pending: how likely it is that a call never returns.
        patience: how likely it is that a call stays open for one more moment.
    """
    vocabulary = [word for word in specification.vocabulary if not names or word.name in names]
    functional, state = Functional(specification), specification.initial()
    open_calls: dict[int, tuple[MethodCall, int, Outcome | None]] = {}
    found: History = []
    clock = begun = 0
    while begun < calls or open_calls:
        clock += 1
        thread = rng.randrange(threads)
        if thread not in open_calls:
            if begun < calls:
                begun += 1
                operation = random_operation(vocabulary, begun, rng)
                if distinct and operation.is_write and operation.arguments:
                    operation = replace(operation, arguments=(*operation.arguments[:-1], begun))
                open_calls[thread] = operation, clock, None
            elif not open_calls:
                break
            continue
        operation, invoked, outcome = open_calls[thread]
        if outcome is None:
            effects = functional.effects(state, operation)
            if effects and rng.random() > patience / 2:
                state, outcome = effects[0]
                open_calls[thread] = operation, invoked, outcome
            elif rng.random() < (pending / 2 if effects else 0.2):
                del open_calls[thread]
                found.append(Call(thread, operation, invoked, None, None))
                threads += thread == threads - 1
        elif rng.random() > patience:
            del open_calls[thread]
            is_pending = rng.random() < pending
            told = (None, None) if is_pending else (clock, outcome)
            found.append(Call(thread, operation, invoked, *told))
    return sorted(found, key=lambda call: call.invoked)


def damaged(history: History, rng: random.Random) -> History:
    """The history with the outcomes of two calls of a name exchanged, one copied, or a call made shorter or pending."""
    told = [at for at, call in enumerate(history) if call.outcome is not None]
    unlike = [
        (one, other)
        for one in told
        for other in told
        if history[one].operation.name == history[other].operation.name
        and history[one].outcome != history[other].outcome
    ]
    if not unlike:
        return history
    at, other = rng.choice(unlike)
    victim, changed = history[at], list(history)
    how = rng.random()
    if how < 0.6:
        changed[at] = replace(victim, outcome=history[other].outcome)
        if how < 0.4:
            changed[other] = replace(history[other], outcome=victim.outcome)
    elif how < 0.8:
        moment = rng.randint(victim.invoked, victim.returned or 0)
        changed[at] = replace(victim, invoked=moment, returned=rng.randint(moment, victim.returned or 0))
    elif how < 0.9:
        changed[at] = replace(victim, outcome=None, returned=None)
    return sorted(changed, key=lambda call: call.invoked)


def pairs(specification: Specifies, seed: int, number: int, **shape: Any) -> Iterator[History]:
    """Histories, right and damaged ones in turn."""
    rng = random.Random(seed)
    for count in range(number):
        history = random_history(specification, rng, **shape)
        for _ in range(count % 2 * (1 + count % 3)):
            history = damaged(history, rng)
        yield history
