import functools
import re
import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from kcache_model.finding import FindingKind
from kcache_stress.engine.granularity import REWRITTEN, Granularity
from kcache_stress.engine.strategy import Coverage
from kcache_stress.target.scenarios import Copies, explore_scenario, replay_scenario

pytest.importorskip("kubernetes.informer", reason="the client has an informer since 36.0.0")

import kubernetes.informer
import kubernetes.watch

from .informer_stop import INSTRUMENT, start_and_stop, stop_meets_loop

copies = functools.cache(lambda granularity: Copies(INSTRUMENT, granularity))
"""Of the client's modules: making them takes longer than most searches."""

FAULT = "AttributeError: 'NoneType' object has no attribute 'stop'"


@pytest.mark.parametrize("loop_first", [True, False])
def test_stop_uses_what_it_no_longer_has(loop_first: bool) -> None:
    scenario = stop_meets_loop(loop_first=loop_first)
    result = explore_scenario(scenario, copies=copies(Granularity.FREE))
    assert result.problem is not None
    assert result.problem.kind is FindingKind.EXCEPTION
    assert FAULT in result.problem.summary
    assert " in stop)" in result.problem.summary
    assert result.preemptions == 2
    for _ in range(2):
        replay = replay_scenario(scenario, result.schedule, copies=copies(Granularity.FREE))
        assert replay.followed
        assert replay.problem == result.problem
    stopping = f"thread {1 + loop_first}"
    *_, checked, cleared, used = [line for line in replay.story if "self._watch" in line]
    assert checked.startswith(stopping)
    assert cleared.endswith("in _run_loop: self._watch = None")
    assert used.startswith(stopping)
    assert used.endswith("in stop: self._watch.stop()")


@pytest.mark.parametrize("strategy", ["pos", "bounded"])
def test_other_strategies_find_it_too(strategy: Any) -> None:
    result = explore_scenario(stop_meets_loop(), strategy=strategy, copies=copies(Granularity.FREE))
    assert result.problem is not None
    assert FAULT in result.problem.summary


@pytest.mark.one_in(2)
@pytest.mark.parametrize("loop_first", [True, False])
def test_a_global_lock_hides_it(loop_first: bool) -> None:
    scenario = stop_meets_loop(loop_first=loop_first)
    result = explore_scenario(scenario, copies=copies(Granularity.GIL), seconds=120.0)  # for slow machines
    assert result.problem is None
    assert result.coverage is Coverage.EXHAUSTED


@pytest.mark.one_in(3)
@pytest.mark.parametrize("granularity", REWRITTEN)
@pytest.mark.parametrize("loop_first", [True, False])
def test_one_look_repairs_it(loop_first: bool, granularity: Granularity) -> None:
    result = explore_scenario(stop_meets_loop(loop_first=loop_first, repaired=True), copies=copies(granularity))
    assert result.problem is None
    assert result.coverage is Coverage.EXHAUSTED


@pytest.mark.parametrize("granularity", [Granularity.FREE, Granularity.GIL])
@pytest.mark.parametrize("repaired", [True, False])
def test_a_stop_before_the_watch_is_lost(repaired: bool, granularity: Granularity) -> None:
    scenario = start_and_stop(repaired=repaired)
    result = explore_scenario(scenario, copies=copies(granularity))
    assert result.problem is not None
    assert result.problem.kind is FindingKind.DEADLOCK
    assert re.search(r"thread 1 waits for .* in stop\).*; thread 2 waits for a notification", result.problem.summary)
    replay = replay_scenario(scenario, result.schedule, copies=copies(granularity))
    assert replay.followed
    assert replay.problem == result.problem


def test_it_is_lost_by_real_threads_too() -> None:
    listing, news = threading.Event(), threading.Event()

    class Response:
        status = 200

        def stream(self, **_: object) -> Any:
            assert news.wait(timeout=20)
            yield b'{"type": "BOOKMARK", "object": {}}\n'

        def close(self) -> None: ...

        def release_conn(self) -> None: ...

    def things(*, watch: bool = False, **_: object) -> Any:
        if watch:
            return Response()
        listing.set()
        assert informer._stop_event.wait(timeout=20)
        time.sleep(0.2)  # the answer comes when stop has looked for a watch already
        return SimpleNamespace(items=[], metadata=SimpleNamespace(resource_version="1"))

    informer = kubernetes.informer.SharedInformer(things)
    informer.start()
    assert listing.wait(timeout=20)
    stopping = threading.Thread(target=informer.stop)
    stopping.start()
    stopping.join(timeout=0.7)
    hangs = stopping.is_alive()
    news.set()
    stopping.join(timeout=20)
    assert not stopping.is_alive()
    assert hangs


def test_the_real_modules_are_left_alone() -> None:
    explore_scenario(stop_meets_loop(), executions=3)
    assert sys.modules["kubernetes.informer"] is kubernetes.informer
    assert kubernetes.informer.informer is sys.modules["kubernetes.informer.informer"]
    assert kubernetes.informer.informer.Watch is kubernetes.watch.Watch
