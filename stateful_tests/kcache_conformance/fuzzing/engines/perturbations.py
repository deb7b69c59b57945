"""Perturbed processes for equal objects: another hash seed, order of calls, clock, time zone, random state.

Each perturbation has its own process, which loads the function. This module has only cheap imports, so that a process
starts almost as fast as Python itself.
"""

from __future__ import annotations

import contextlib
import enum
import os
import random
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from kcache_conformance.isolation import STARTUP_SECONDS, run_job
from kcache_conformance.isolation.worker import Outlet

from ..judging.outcome import answer_of
from ..memory import limit_memory
from ..objects.trees import NotPlainError, Tree, decode
from ..rules import Kind, Rule
from ..static_analysis import read
from ..subject import load_subject

_DAY_SECONDS = 86_400
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{1,60}")


class Order(enum.StrEnum):
    """The order in which the objects are passed to the function."""

    FORWARD = "forward"
    BACKWARD = "backward"
    SHUFFLED = "shuffled"


@dataclass(frozen=True)
class Perturbation:
    """The differences between a process and the unperturbed process.

    Attributes:
        hash_seed: ``PYTHONHASHSEED``.
        order: the order of the calls.
        days: the shift of the clock, in days.
        is_elsewhere: whether time zone, locale, home, working directory, and the state of :mod:`random` differ.
    """

    hash_seed: int = 0
    order: Order = Order.FORWARD
    days: int = 0
    is_elsewhere: bool = False

    def difference(self) -> str:
        """Return the differences as text, for reports."""
        parts = [f"PYTHONHASHSEED={self.hash_seed}"] if self.hash_seed else []
        if self.order is not Order.FORWARD:
            parts.append(f"the objects in {self.order} order")
        if self.days:
            parts.append(f"the clock {abs(self.days):,} days {'later' if self.days > 0 else 'earlier'}")
        if self.is_elsewhere:
            parts.append("another time zone, locale, working directory, environment and random state")
        return " and ".join(parts) or "nothing"

    def single_differences(self) -> Iterator[tuple[Rule, Perturbation]]:
        """Yield the perturbations with one of the differences, each with the rule that it checks."""
        if self.order is not Order.FORWARD:
            yield Rule.HISTORY, Perturbation(order=self.order)
        if self.hash_seed:
            yield Rule.HASH_SEED, Perturbation(hash_seed=self.hash_seed)
        if self.days:
            yield Rule.CLOCK, Perturbation(days=self.days)
        if self.is_elsewhere:
            yield Rule.ENVIRONMENT, Perturbation(is_elsewhere=True)


UNPERTURBED = Perturbation()
PERTURBATIONS = (
    Perturbation(hash_seed=1, order=Order.BACKWARD, days=400, is_elsewhere=True),
    Perturbation(hash_seed=2, order=Order.SHUFFLED, days=-1, is_elsewhere=False),
    Perturbation(hash_seed=3, order=Order.SHUFFLED, days=-21_900, is_elsewhere=True),
    Perturbation(hash_seed=4, order=Order.BACKWARD, days=3, is_elsewhere=False),
)
"""Each has several differences at once, to need few processes; if answers differ, the single differences are tried."""

Meaning = tuple[Any, ...]


@dataclass(frozen=True)
class PerturbedRun:
    """The answers of a perturbed process.

    Attributes:
        meanings: one for each object, in the order of the objects, not of the calls.
        failure: the reason why there are no answers: the process hung or crashed; else empty.
    """

    meanings: tuple[Meaning, ...]
    failure: str = ""


def run_perturbed(
    spec: str, kind: Kind, trees: list[Tree], perturbation: Perturbation, *, patience_seconds: float
) -> PerturbedRun:
    """Start a process with ``perturbation``, and return the function's answers for the objects."""
    answers: list[list[Any]] = []
    environment = {"PYTHONHASHSEED": str(perturbation.hash_seed)}
    if perturbation.is_elsewhere:
        environment |= {"TZ": "Asia/Kathmandu", "LANG": "C", "LC_ALL": "C", "HOME": tempfile.gettempdir()}
        environment |= {"USER": "somebody", "HOSTNAME": "elsewhere", "KCACHE_WORLD": "elsewhere"}
    end = run_job(
        f"{__name__}:perturbed_job",
        {"spec": spec, "kind": kind.value, "trees": trees, "perturbation": asdict(perturbation)},
        on_event=lambda event: answers.append(event["answers"]) if event["event"] == "answers" else None,
        deadline_seconds=STARTUP_SECONDS,
        patience_seconds=patience_seconds,
        environment=environment,
    )
    if end.how != "done" or not answers:
        return PerturbedRun((), end.message or end.how)
    return PerturbedRun(tuple(_hashable(answer) for answer in answers[0]))


def perturbed_job(outlet: Outlet, spec: str, kind: str, trees: list[Tree], perturbation: dict[str, Any]) -> None:
    """Call the function with every object, in the order and with the clock of the perturbation; runs in the child."""
    limit_memory()
    chosen = replace(Perturbation(**perturbation), order=Order(perturbation["order"]))
    with _moved_clock(chosen.days):
        subject = load_subject(spec, Kind(kind))
        if chosen.is_elsewhere:
            _set_variables(subject.function)
            subject = load_subject(spec, Kind(kind))
        random.seed(f"world {chosen.is_elsewhere}")
        order = calls_in_order(len(trees), chosen)
        if chosen.is_elsewhere:
            os.chdir(tempfile.gettempdir())
        answers: list[Any] = [None] * len(trees)
        for position in order:
            outlet.watch.note("")
            try:
                obj = decode(trees[position])
            except NotPlainError:
                continue
            answer = answer_of(subject.function, subject.kind, obj)[0]
            values, error, wrong = answer.meaning
            answers[position] = [None if values is None else sorted(values), error, wrong]
        outlet.watch.rest()
    outlet.send({"event": "answers", "answers": answers})


def calls_in_order(number: int, perturbation: Perturbation) -> list[int]:
    """Return the positions of ``number`` objects in the order of the calls under ``perturbation``."""
    order = list(range(number))
    if perturbation.order is Order.BACKWARD:
        order.reverse()
    elif perturbation.order is Order.SHUFFLED:
        random.Random(perturbation.hash_seed).shuffle(order)
    return order


def _set_variables(function: Callable[[Any], Any]) -> None:
    """Change the environment variables whose names seem to occur in the code, if it reads the environment."""
    reading = read(function)
    if reading.reads("environ", "getenv", "environb"):
        for name in filter(_VARIABLE.fullmatch, reading.texts):
            os.environ[name] = "elsewhere"


@contextlib.contextmanager
def _moved_clock(days: int) -> Iterator[None]:
    if not days:
        yield
        return
    import time

    import time_machine

    with time_machine.travel(time.time() + days * _DAY_SECONDS, tick=True):
        yield


def _hashable(answer: list[Any] | None) -> Meaning:
    if answer is None:
        return (None,)
    values, error, wrong = answer
    return (None if values is None else tuple(values), error, wrong)
