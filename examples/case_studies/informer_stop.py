"""The informer of the official Python client under the explorer: is it safe to stop it?

The released code is explored as it is; only its ``Watch`` is one without a network, in the explorer's private copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kcache_stress.engine.granularity import REWRITTEN
from kcache_stress.target.scenarios import Load, Scenario, explore_scenario, replay_scenario

HERE = Path(__file__).parent
INSTRUMENT = ("kubernetes.informer",)


def stop_meets_loop(*, loop_first: bool = True, repaired: bool = False) -> Scenario:
    """One thread runs the informer's loop, another one stops it.

    Args:
        loop_first: the order of the threads.
        repaired: whether the informer is the repaired one.
    """

    def setup(load: Load) -> Sequence[Callable[[], object]]:
        informer, server = _informer(load, repaired=repaired)

        def stop() -> None:
            informer.stop()
            server.close()

        works = [informer._run_loop, stop]
        return works if loop_first else works[::-1]

    return Scenario(INSTRUMENT, setup)


def start_and_stop(*, repaired: bool = False) -> Scenario:
    """One thread starts the informer and then stops it; the loop runs in the thread that the informer starts itself."""

    def setup(load: Load) -> Sequence[Callable[[], object]]:
        informer, _ = _informer(load, repaired=repaired)

        def work() -> None:
            informer.start()
            informer.stop()

        return [work]

    return Scenario(INSTRUMENT, setup)


def _informer(load: Load, *, repaired: bool) -> tuple[Any, Any]:
    """A new informer and its server: the first stream ends at once, as any does sooner or later; the next is quiet."""
    server = load(HERE / "scripted_watch.py").ScriptedServer(brief=1)
    module: Any = load("kubernetes.informer.informer")
    module.Watch = server.watch
    kind = load(HERE / "repaired_informer.py").RepairedInformer if repaired else module.SharedInformer
    return kind(server.list), server


def main() -> None:
    """Explore both scenarios, and tell what was found."""
    for name, scenario in (("stop_meets_loop", stop_meets_loop()), ("start_and_stop", start_and_stop(repaired=True))):
        for granularity in REWRITTEN:
            result = explore_scenario(scenario, granularity=granularity)
            spent = f"{result.executions} executions, {result.seconds * 1000:.1f} ms"
            print(f"{name}, switches: {granularity}: {result.problem or result.coverage} ({spent})")
            for line in (
                replay_scenario(scenario, result.schedule, granularity=granularity).story if result.problem else ()
            ):
                print("   ", line)


if __name__ == "__main__":
    main()
