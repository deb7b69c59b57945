"""The same objects in other worlds: another hash seed, order of calls, time of day, time zone, random state.

Every world is a process of its own, which loads the function anew. Nothing heavy is imported here: a world should take
no longer to start than Python does.
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
from ..objects.codec import NotPlainError, Tree, decode
from ..reading import read
from ..rules import Kind, Rule
from ..subject import load_subject

_DAY_SECONDS = 86_400
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{1,60}")


class Order(enum.StrEnum):
    """In which order the objects are passed to the function."""

    FORWARD = "forward"
    BACKWARD = "backward"
    SHUFFLED = "shuffled"


@dataclass(frozen=True)
class World:
    """What is different about a process.

    Attributes:
        hash_seed: ``PYTHONHASHSEED``.
        order: of the calls.
        days: by how much the clock is moved.
        is_elsewhere: another time zone, locale, home, working directory, and state of :mod:`random`.
    """

    hash_seed: int = 0
    order: Order = Order.FORWARD
    days: int = 0
    is_elsewhere: bool = False

    def difference(self) -> str:
        """What is different, for reports."""
        parts = [f"PYTHONHASHSEED={self.hash_seed}"] if self.hash_seed else []
        if self.order is not Order.FORWARD:
            parts.append(f"the objects in {self.order} order")
        if self.days:
            parts.append(f"the clock {abs(self.days):,} days {'later' if self.days > 0 else 'earlier'}")
        if self.is_elsewhere:
            parts.append("another time zone, locale, working directory, environment and random state")
        return " and ".join(parts) or "nothing"

    def single_differences(self) -> Iterator[tuple[Rule, World]]:
        """Worlds that differ from the usual one in one way only, and the rule that this way is about."""
        if self.order is not Order.FORWARD:
            yield Rule.HISTORY, World(order=self.order)
        if self.hash_seed:
            yield Rule.HASH_SEED, World(hash_seed=self.hash_seed)
        if self.days:
            yield Rule.CLOCK, World(days=self.days)
        if self.is_elsewhere:
            yield Rule.ENVIRONMENT, World(is_elsewhere=True)


USUAL = World()
OTHERS = (
    World(hash_seed=1, order=Order.BACKWARD, days=400, is_elsewhere=True),
    World(hash_seed=2, order=Order.SHUFFLED, days=-1, is_elsewhere=False),
    World(hash_seed=3, order=Order.SHUFFLED, days=-21_900, is_elsewhere=True),
    World(hash_seed=4, order=Order.BACKWARD, days=3, is_elsewhere=False),
)
"""Each differs in several ways at once; which of them matters is found out when something does."""

Meaning = tuple[Any, ...]


@dataclass(frozen=True)
class Visit:
    """What a world gave.

    Attributes:
        meanings: one for each object, in the order in which they were given, whatever the order of the calls.
        failure: why there is no answer: the process hung or crashed.
    """

    meanings: tuple[Meaning, ...]
    failure: str = ""


def visit(spec: str, kind: Kind, trees: list[Tree], world: World, *, patience_seconds: float) -> Visit:
    """What the function gives for the objects in ``world``; starts a process."""
    answers: list[list[Any]] = []
    environment = {"PYTHONHASHSEED": str(world.hash_seed)}
    if world.is_elsewhere:
        environment |= {"TZ": "Asia/Kathmandu", "LANG": "C", "LC_ALL": "C", "HOME": tempfile.gettempdir()}
        environment |= {"USER": "somebody", "HOSTNAME": "elsewhere", "KCACHE_WORLD": "elsewhere"}
    end = run_job(
        f"{__name__}:world_job",
        {"spec": spec, "kind": kind.value, "trees": trees, "world": asdict(world)},
        on_event=lambda event: answers.append(event["answers"]) if event["event"] == "answers" else None,
        deadline_seconds=STARTUP_SECONDS,
        patience_seconds=patience_seconds,
        environment=environment,
    )
    if end.how != "done" or not answers:
        return Visit((), end.message or end.how)
    return Visit(tuple(_hashable(answer) for answer in answers[0]))


def world_job(outlet: Outlet, spec: str, kind: str, trees: list[Tree], world: dict[str, Any]) -> None:
    """Runs in the child: calls the function with every object, in the order and at the time of the world."""
    limit_memory()
    chosen = replace(World(**world), order=Order(world["order"]))
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


def calls_in_order(number: int, world: World) -> list[int]:
    """The positions of ``number`` objects in the order in which ``world`` calls the function for them."""
    order = list(range(number))
    if world.order is Order.BACKWARD:
        order.reverse()
    elif world.order is Order.SHUFFLED:
        random.Random(world.hash_seed).shuffle(order)
    return order


def _set_variables(function: Callable[[Any], Any]) -> None:
    """Give other values to the environment variables that the code seems to name."""
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
