"""Solver engine: it starts CrossHair in a child process, and collects its objects."""

from __future__ import annotations

import time
from typing import Any

from kcache_conformance.isolation import STARTUP_SECONDS, run_job

from ..evidence import Engine, EngineReport
from ..objects.trees import Tree
from ..options import FuzzOptions
from ..rules import Kind
from . import symbolic


def unable(options: FuzzOptions) -> str:
    """Return the reason why CrossHair cannot be used for this run; empty if it can."""
    if options.sources.strategy is not None:
        return "CrossHair cannot use a strategy of your own"
    return symbolic.unavailable()


def ask_solver(spec: str, kind: Kind, options: FuzzOptions, seconds: float) -> tuple[list[Tree], EngineReport]:
    """Return objects for which the function seemed to break a rule; they have to be judged without CrossHair.

    Args:
        spec: the name by which a process loads the function.
        kind: the kind of the function.
        options: options of the run.
        seconds: time limit for the import of the solver and the search.
    """
    began, paths = time.monotonic(), 0
    hints: list[Tree] = []

    def on_event(event: dict[str, Any]) -> None:
        nonlocal paths
        if event["event"] == "hint":
            hints.append(event["tree"])
        else:
            paths = event["paths"]

    end = run_job(
        f"{symbolic.__name__}:symbolic_job",
        {"spec": spec, "kind": kind.value, "options": options.to_json(), "seconds": seconds},
        on_event=on_event,
        deadline_seconds=seconds + STARTUP_SECONDS,
        patience_seconds=max(seconds, options.patience_seconds),
    )
    missed = symbolic.caveat()
    if end.how not in ("done", "hang") and not paths:
        missed = f"it failed ({end.how}): {(end.message.splitlines() or [''])[-1]}"
    elif not hints:
        missed = "; ".join(filter(None, (missed, "a run without a counterexample is not a proof")))
    did = f"{paths:,} symbolic paths, {len(hints)} hints"
    return hints, EngineReport(Engine.CROSSHAIR, did, missed, time.monotonic() - began)
