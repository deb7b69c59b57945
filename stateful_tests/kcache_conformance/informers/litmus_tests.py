"""Small programs, each made for a class of faults that informers have had."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kcache_model.informers.program import InformerProgram, Step
from kcache_model.informers.program import StepName as S


def _steps(*steps: tuple[S, str | int] | S) -> tuple[Step, ...]:
    return tuple(Step(*step) if isinstance(step, tuple) else Step(step) for step in steps)


_A: Final = (S.CREATE, "a")
_B: Final = (S.CREATE, "b")

SEQUENTIAL: Final[Mapping[str, InformerProgram]] = {
    "changes": InformerProgram(
        _steps(_A), (_steps(S.SETTLE, (S.UPDATE, "a"), _B, (S.DELETE, "a"), (S.CREATE, "a"), (S.UPDATE, "b")),), 2
    ),
    "missed deletion": InformerProgram(_steps(_A, _B), (_steps(S.SETTLE, S.MISS, (S.DELETE, "a")),)),
    "missed deletion of the last object": InformerProgram(_steps(_A), (_steps(S.SETTLE, S.MISS, (S.DELETE, "a")),)),
    "missed update": InformerProgram(_steps(_A, _B), (_steps(S.SETTLE, S.MISS, (S.UPDATE, "a")),)),
    "missed everything": InformerProgram(
        _steps(_A, _B),
        (_steps(S.SETTLE, S.MISS, (S.DELETE, "a"), (S.UPDATE, "b"), (S.CREATE, "c"), S.SETTLE, (S.UPDATE, "c")),),
    ),
    "recreated unseen": InformerProgram(_steps(_A), (_steps(S.SETTLE, S.MISS, (S.RECREATE, "a"), S.SETTLE),)),
    "recreated": InformerProgram(_steps(_A), (_steps(S.SETTLE, (S.RECREATE, "a"), (S.UPDATE, "a")),)),
    "nothing there": InformerProgram((), (_steps(S.SETTLE, _A),)),
    "watch ends": InformerProgram(_steps(_A), (_steps(S.SETTLE, S.CUT, (S.UPDATE, "a"), S.CUT, _B, (S.DELETE, "a")),)),
    "watch ends after much": InformerProgram(
        _steps(_A),
        (_steps(S.SETTLE, (S.UPDATE, "a"), (S.UPDATE, "a"), _B, (S.DELETE, "b"), S.SETTLE, S.CUT, S.SETTLE),),
    ),
    "history forgotten": InformerProgram(
        _steps(_A), (_steps(S.SETTLE, (S.UPDATE, "a"), S.EXPIRE, _B, S.SETTLE, S.EXPIRE, (S.DELETE, "b")),)
    ),
    "expired watches refused": InformerProgram(
        _steps(_A, S.REFUSE_EXPIRED), (_steps(S.SETTLE, (S.UPDATE, "a"), S.MISS, (S.DELETE, "a"), _B, S.SETTLE),)
    ),
    "lists refused": InformerProgram(
        _steps(_A, (S.REFUSE_LISTS, 2)), (_steps(_B, S.SETTLE, (S.REFUSE_LISTS, 1), S.MISS, (S.DELETE, "a")),)
    ),
    "watches refused": InformerProgram(
        _steps(_A, (S.REFUSE_WATCHES, 2)), (_steps(_B, S.SETTLE, (S.REFUSE_WATCHES, 1), S.CUT, (S.DELETE, "a")),)
    ),
    "too large": InformerProgram(
        _steps(_A), (_steps(S.SETTLE, S.TOO_LARGE, S.MISS, (S.DELETE, "a"), _B, S.SETTLE, (S.UPDATE, "b")),)
    ),
    "told twice": InformerProgram(
        (), (_steps(S.SETTLE, _A, S.REPEAT, (S.UPDATE, "a"), S.REPEAT, (S.DELETE, "a"), S.REPEAT, _B),)
    ),
    "told in another order": InformerProgram(
        _steps(_A), (_steps(S.SETTLE, (S.SWAP, "a"), S.SETTLE, (S.SWAP, "b"), S.CUT, (S.DELETE, "b"), (S.DELETE, "a")),)
    ),
    "bookmarks": InformerProgram(_steps(_A), (_steps(S.SETTLE, S.BOOKMARK, S.CUT, _B, S.BOOKMARK, (S.DELETE, "a")),)),
    "back in time": InformerProgram(
        _steps(_A, (S.UPDATE, "a"), _B, (S.GO_BACK, 2)), (_steps((S.CREATE, "c"), S.SETTLE, (S.DELETE, "a")),)
    ),
    "late handler": InformerProgram(
        _steps(_A), (_steps(S.SETTLE, S.ADD_HANDLER, _B, (S.AWAIT_HANDLER_SYNC, 1), (S.DELETE, "a")),)
    ),
    "late handler after what was missed": InformerProgram(
        _steps(_A, _B), (_steps(S.SETTLE, S.MISS, (S.DELETE, "a"), (S.UPDATE, "b"), S.SETTLE, S.ADD_HANDLER),)
    ),
    "handler synced": InformerProgram(_steps(_A, _B), (_steps((S.AWAIT_HANDLER_SYNC, 0), (S.DELETE, "a")),)),
    "slow handler": InformerProgram(
        _steps(_A), (_steps((S.BLOCK_HANDLER, 0), (S.UPDATE, "a"), _B, S.SETTLE, (S.RELEASE_HANDLER, 0)),), 2
    ),
    "handler that raises": InformerProgram(
        _steps(_A), (_steps(S.SETTLE, (S.FAIL_HANDLER, 0), (S.UPDATE, "a"), S.SETTLE, _B, (S.DELETE, "a")),)
    ),
    "handler removed": InformerProgram(
        _steps(_A), (_steps(S.SETTLE, (S.REMOVE_HANDLER, 0), (S.REMOVE_HANDLER, 0), S.SETTLE, _B, S.SETTLE),), 2
    ),
    "index added": InformerProgram(_steps(_A), (_steps(S.SETTLE, S.ADD_INDEXERS, _B, _A, _B, (S.DELETE, "a")),)),
    "transformer": InformerProgram(
        _steps(_A), (_steps(S.SETTLE, (S.UPDATE, "a"), _B, S.SETTLE, S.MISS, (S.DELETE, "a")),), transforms=True
    ),
    "transformer and resync": InformerProgram(
        _steps(_A), (_steps(S.SETTLE, _B, S.SETTLE),), transforms=True, resync_seconds=15
    ),
}
"""With one thread, along which nothing but the informer's own threads are concurrent."""

CONCURRENT: Final[Mapping[str, InformerProgram]] = {
    "stop during anything": InformerProgram(_steps(_A), (_steps((S.UPDATE, "a")), _steps(S.STOP))),
    "stop during a list that fails": InformerProgram(_steps(_A, (S.REFUSE_LISTS, 1)), (_steps(), _steps(S.STOP))),
    "stop twice": InformerProgram(_steps(_A), (_steps(S.STOP), _steps(S.STOP))),
    "stop and relist": InformerProgram(_steps(_A), (_steps(S.EXPIRE), _steps(S.STOP))),
    "handler added during events": InformerProgram(_steps(_A), (_steps((S.UPDATE, "a"), _B), _steps(S.ADD_HANDLER)), 0),
    "handler added during a relist": InformerProgram(
        _steps(_A), (_steps(S.MISS, (S.DELETE, "a"), _B, S.CUT), _steps(S.ADD_HANDLER)), 0
    ),
    "handler added during stop": InformerProgram(_steps(_A), (_steps(S.STOP), _steps(S.ADD_HANDLER)), 0),
    "handler removed during events": InformerProgram(
        _steps(_A), (_steps((S.UPDATE, "a")), _steps((S.REMOVE_HANDLER, 0)))
    ),
    "handler synced during events": InformerProgram(
        _steps(_A), (_steps((S.DELETE, "a")), _steps((S.AWAIT_HANDLER_SYNC, 0)))
    ),
    "index added during events": InformerProgram(_steps(_A), (_steps(_B, (S.DELETE, "a")), _steps(S.ADD_INDEXERS)), 0),
    "watch ends during events": InformerProgram(_steps(_A), (_steps((S.DELETE, "a"), _B), _steps(S.CUT)), 0),
    "history forgotten during events": InformerProgram(_steps(_A), (_steps((S.DELETE, "a"), _B), _steps(S.EXPIRE)), 0),
    "resync during events": InformerProgram(_steps(_A), (_steps((S.DELETE, "a"), _B),), resync_seconds=15),
}
"""With threads that meet."""

CROWDED: Final[Mapping[str, InformerProgram]] = {
    "handler added beside others during events": InformerProgram(
        _steps(_A), (_steps((S.UPDATE, "a"), _B), _steps(S.ADD_HANDLER)), 2
    ),
    "handler added beside another during a relist": InformerProgram(
        _steps(_A), (_steps(S.MISS, (S.DELETE, "a"), _B, S.CUT), _steps(S.ADD_HANDLER)), 1
    ),
}
"""With so many threads that meet that only samples of their interleavings can be tried: whoever tells one handler after
another can be caught between two of them."""
