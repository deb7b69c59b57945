"""Random small programs with concurrent threads."""

from __future__ import annotations

import random
from typing import Final

from kcache_model.informers.program import InformerProgram, Step
from kcache_model.informers.program import StepName as S

_NAMES: Final = ("a", "b")
_CHANGES: Final = (S.CREATE, S.UPDATE, S.DELETE, S.RECREATE)
_NETWORK: Final = (S.CUT, S.EXPIRE, S.MISS, S.REPEAT, S.BOOKMARK)
_HANDLERS: Final = (S.ADD_HANDLER, S.REMOVE_HANDLER, S.AWAIT_HANDLER_SYNC, S.ADD_INDEXERS)


def random_program(seed: int, *, is_large: bool = False) -> InformerProgram:
    """Create a program of two threads, or sometimes three if it is large.

    The first thread changes objects. Each other thread disturbs the network, changes handlers, or stops the informer.

    Args:
        seed: determines the program.
        is_large: whether to create more steps, for real threads, which overlap only if they are busy.
    """
    chosen = random.Random(seed)
    handlers = chosen.choice((0, 1, 1, 2))
    size = chosen.randint(4, 12) if is_large else chosen.randint(1, 3)
    threads = [_changes(chosen, size)]
    threads += [_meddling(chosen, handlers, is_large) for _ in range(chosen.choice((1, 1, 2) if is_large else (1,)))]
    before = (*_changes(chosen, chosen.randint(0, 3)), *_trouble(chosen))
    return InformerProgram(
        before,
        tuple(threads),
        handlers,
        transforms=chosen.random() < 0.2,
        resync_seconds=chosen.choice((0, 0, 0, 15)),
    )


def _changes(chosen: random.Random, count: int) -> tuple[Step, ...]:
    return tuple(Step(chosen.choice(_CHANGES), chosen.choice(_NAMES)) for _ in range(count))


def _trouble(chosen: random.Random) -> tuple[Step, ...]:
    kind = chosen.choice((None, None, None, S.REFUSE_LISTS, S.REFUSE_WATCHES, S.REFUSE_EXPIRED, S.TOO_LARGE))
    return () if kind is None else (Step(kind, 1),)


def _meddling(chosen: random.Random, handlers: int, is_large: bool) -> tuple[Step, ...]:
    steps = []
    for _ in range(chosen.randint(2, 6) if is_large else chosen.randint(1, 2)):
        kind = chosen.choice((*_NETWORK, *_HANDLERS))
        number = chosen.randrange(max(1, handlers))
        steps.append(Step(kind, number))
        if kind is S.MISS:
            steps += _changes(chosen, chosen.randint(1, 2))
    if chosen.random() < 0.25:
        steps.append(Step(S.STOP))
    return tuple(steps)
