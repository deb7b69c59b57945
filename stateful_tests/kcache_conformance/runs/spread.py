"""Spreads batches over an executor: threads that watch child processes here, or the workers of a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice

from kcache_stress.interruption import ending_children, is_interrupted

from .batch import Batch, Data, decode_tally, encode_batch, run_batch
from .outcomes import Tally

_IN_FLIGHT_PER_JOB = 2
_POLL_SECONDS = 0.2


def spread(
    batches: Iterable[Batch],
    *,
    jobs: int = 1,
    executor: Executor | None = None,
    seconds: float = float("inf"),
    on_tally: Callable[[Tally], None] = lambda _: None,
) -> tuple[Tally, bool]:
    """Run batches until the first finding, the end, or the time limit.

    Args:
        batches: what to run; taken as they are needed.
        jobs: how many run at once.
        executor: where they run; by default in threads of this process, each of which watches over a child process.
            Any ``concurrent.futures.Executor`` will do, such as that of a dask cluster.
        seconds: after which no further batch is begun.
        on_tally: told of the sum so far.

    Returns:
        The sum, and whether all batches were run. If the user asks to stop, the sum of what was done by then.
    """
    batches = iter(batches)
    deadline = time.monotonic() + seconds
    total = Tally()
    running: set[Future[Data]] = set()
    is_complete = False
    with nullcontext(executor) if executor is not None else ThreadPoolExecutor(jobs, "kcache batch") as pool:
        try:
            while True:
                if is_interrupted():
                    total = replace(total, is_interrupted=True)
                    running = {future for future in running if executor is None and not future.cancel()}
                elif time.monotonic() < deadline and not is_complete:
                    wanted = jobs * _IN_FLIGHT_PER_JOB - len(running)
                    more = [pool.submit(run_batch, encode_batch(batch)) for batch in islice(batches, wanted)]
                    running.update(more)
                    is_complete = len(more) < wanted
                if not running:
                    return total, is_complete and not total.is_interrupted
                done, running = wait(running, _POLL_SECONDS, return_when=FIRST_COMPLETED)
                for future in done:
                    total = total.merged(decode_tally(future.result()))
                on_tally(total)
                if (total.finding is not None or total.refused) and not is_interrupted():
                    return total, False
        except BaseException:
            with ending_children():
                pool.shutdown(cancel_futures=True)
            raise
        finally:
            for future in running:
                future.cancel()
