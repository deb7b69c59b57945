"""Distribution of batches over an executor: threads that watch child processes here, or the workers of a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import nullcontext
from dataclasses import replace
from functools import partial, reduce
from itertools import count, islice

from kcache_model.finding import FindingKind
from kcache_stress.interruption import ending_children, is_interrupted

from ..results.exploration_outcomes import Tally
from .batch import Batch, Data, decode_tally, encode_batch, run_batch

_IN_FLIGHT_PER_JOB = 2
_POLL_SECONDS = 0.2


def spread(
    batches: Iterable[Batch],
    *,
    jobs: int = 1,
    executor: Executor | None = None,
    seconds: float = float("inf"),
    most_findings: int = 1,
    on_tally: Callable[[Tally], None] = lambda _: None,
    on_batch: Callable[[int, Tally], None] = lambda _number, _tally: None,
) -> tuple[Tally, bool]:
    """Run batches until there are enough findings, no batches are left, or the time is over.

    Args:
        batches: the batches, taken on demand.
        jobs: the number of batches that run at once.
        executor: runs the batches; by default threads of this process, each of which watches a child process. Any
            ``concurrent.futures.Executor`` is suitable, such as the executor of a dask cluster. If it loses work, it
            gets no more.
        seconds: the time after which no further batch is begun.
        most_findings: after this many findings no further batch is begun; nor after a batch that ended its process.
        on_tally: called with the sum so far, including running batches.
        on_batch: called with the number of a batch and its tally.

    Returns:
        The sum, and whether all batches were run. If the user stops the run, the sum so far.
    """
    batches, numbers = iter(batches), count()
    deadline = time.monotonic() + seconds
    total = Tally()
    running: dict[Future[Data], int] = {}
    parts: dict[int, Tally] = {}
    is_complete = is_over = False
    with nullcontext(executor) if executor is not None else ThreadPoolExecutor(jobs, "kcache batch") as pool:

        def begin(batch: Batch) -> None:
            known = total.findings
            number = next(numbers)
            data = encode_batch(
                replace(batch, known=known, most_findings=most_findings) if most_findings > 1 else batch
            )
            listeners = () if executor is not None else (partial(parts.__setitem__, number),)
            work = run_batch if executor is not None else partial(_within, deadline)
            running[pool.submit(work, data, *listeners)] = number

        try:
            while True:
                if is_interrupted():
                    total, is_over = replace(total, is_interrupted=True), True
                    running = {} if executor is not None else _begun(running)
                elif time.monotonic() >= deadline or is_over:
                    begun = running if executor is not None else _begun(running)
                    is_over, running = is_over or len(begun) < len(running), begun
                elif not is_complete:
                    try:
                        wanted = jobs * _IN_FLIGHT_PER_JOB - len(running)
                        more = list(map(begin, islice(batches, wanted)))
                        is_complete = len(more) < wanted
                    except BrokenExecutor as error:
                        total, is_over = replace(total, lost=_text(error)), True
                if not running:
                    return total, is_complete and not is_over
                finished, _ = wait(running, _POLL_SECONDS, return_when=FIRST_COMPLETED)
                for future in finished:
                    number = running.pop(future)
                    try:
                        tally = decode_tally(future.result())
                    except Exception as error:
                        if not _is_lost(error, executor):
                            raise
                        tally, is_over = Tally(lost=_text(error)), True
                    parts.pop(number, None)
                    on_batch(number, tally)
                    total = total.merged(tally)
                on_tally(reduce(Tally.merged, list(parts.values()), total))
                if (_is_enough(total, most_findings) or total.refused) and not is_interrupted():
                    return total, False
        except BaseException:
            with ending_children():
                pool.shutdown(cancel_futures=True)
            raise
        finally:
            for future in running:
                future.cancel()


def _is_enough(total: Tally, most_findings: int) -> bool:
    is_ended = any(finding.kind in (FindingKind.HANG, FindingKind.CRASH) for finding in total.findings)
    return is_ended or len(total.findings) >= most_findings


def _within(deadline: float, data: Data, *listeners: Callable[[Tally], None]) -> Data:
    """Run a batch that may have waited in a queue, within the time that is left now."""
    seconds = min(data["seconds"], max(0.0, deadline - time.monotonic()))
    return run_batch({**data, "seconds": seconds}, *listeners)


def _begun(running: dict[Future[Data], int]) -> dict[Future[Data], int]:
    """Return the batches that have begun; the others are cancelled."""
    return {future: number for future, number in running.items() if not future.cancel()}


def _is_lost(error: Exception, executor: Executor | None) -> bool:
    """Whether the executor failed, and not the work."""
    if executor is None:
        return False
    is_its_own = type(error).__module__.partition(".")[0] == type(executor).__module__.partition(".")[0]
    return is_its_own or isinstance(error, (BrokenExecutor, CancelledError, OSError))


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")
