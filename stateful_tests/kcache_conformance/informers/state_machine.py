"""The Hypothesis state machine: a server with random changes and failures, and an informer that has to follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from kcache_model.informers.program import InformerProgram, Step
from kcache_model.informers.program import StepName as S
from kcache_stress.engine.execution import Problem

from ..phases import stateful
from ..phases.stateful import FoundError

_STEPS: Final = 20
_NAMES: Final = ("a", "b", "c")
_REFUSALS: Final = (S.REFUSE_LISTS, S.REFUSE_WATCHES, S.REFUSE_EXPIRED, S.TOO_LARGE)

Run = Callable[[InformerProgram], "Problem | None"]


def make_state_machine(run: Run) -> type[RuleBasedStateMachine]:
    """Create a state machine whose rules add steps to a program; each program is run as a whole at its end.

    Args:
        run: runs a program and returns the problem, or ``None``.
    """
    names = st.sampled_from(_NAMES)

    class InformerMachine(RuleBasedStateMachine):
        """State machine that keeps the names of the existing objects, so that most steps have an effect."""

        raised: ClassVar[list[Exception]] = []

        def __init__(self) -> None:
            super().__init__()
            self.there: set[str] = set()
            self.before: list[Step] = []
            self.after: list[Step] | None = None
            self.first_handlers = 1
            self.handlers = 1
            self.transforms = False
            self.resync_seconds = 0.0

        def step(self, name: S, argument: str | int = 0) -> None:
            """Add a step to the program, before or after the start."""
            (self.before if self.after is None else self.after).append(Step(name, argument))

        @precondition(lambda self: self.after is None)
        @rule(handlers=st.integers(0, 2), transforms=st.booleans(), resync=st.booleans())
        def start(self, handlers: int, transforms: bool, resync: bool) -> None:
            self.first_handlers = self.handlers = handlers
            self.transforms = transforms
            self.resync_seconds = 15.0 if resync else 0.0
            self.after = []

        @rule(name=names)
        def create_or_update(self, name: str) -> None:
            self.step(S.CREATE, name)
            self.there.add(name)

        @precondition(lambda self: self.there)
        @rule(data=st.data(), how=st.sampled_from((S.UPDATE, S.DELETE, S.RECREATE)))
        def change(self, data: st.DataObject, how: S) -> None:
            name = data.draw(st.sampled_from(sorted(self.there)))
            self.step(how, name)
            if how is S.DELETE:
                self.there.remove(name)

        @precondition(lambda self: self.after is not None)
        @rule()
        def settle(self) -> None:
            self.step(S.SETTLE)

        @precondition(lambda self: self.after is not None)
        @rule(kind=st.sampled_from((S.CUT, S.EXPIRE, S.MISS, S.REPEAT, S.BOOKMARK)))
        def meddle(self, kind: S) -> None:
            self.step(kind)

        @precondition(lambda self: self.after is not None)
        @rule(name=st.sampled_from(_NAMES[:-1]))
        def swap(self, name: str) -> None:
            self.step(S.SWAP, name)
            self.there |= {name, chr(ord(name) + 1)}

        @rule(kind=st.sampled_from(_REFUSALS), count=st.integers(1, 2))
        def refuse(self, kind: S, count: int) -> None:
            self.step(kind, count)

        @precondition(lambda self: self.after is None)
        @rule(changes=st.integers(1, 3))
        def go_back(self, changes: int) -> None:
            self.step(S.GO_BACK, changes)

        @precondition(lambda self: self.after is not None and self.handlers < 4)
        @rule()
        def add_handler(self) -> None:
            self.step(S.ADD_HANDLER)
            self.handlers += 1

        @precondition(lambda self: self.after is not None and self.handlers)
        @rule(
            data=st.data(),
            what=st.sampled_from(
                (S.REMOVE_HANDLER, S.BLOCK_HANDLER, S.RELEASE_HANDLER, S.FAIL_HANDLER, S.AWAIT_HANDLER_SYNC)
            ),
        )
        def touch_handler(self, data: st.DataObject, what: S) -> None:
            self.step(what, data.draw(st.integers(0, self.handlers - 1)))

        @precondition(lambda self: self.after is not None)
        @rule(number=st.integers(1, 2))
        def add_indexers(self, number: int) -> None:
            self.step(S.ADD_INDEXERS, number)

        def teardown(self) -> None:
            program = InformerProgram(
                tuple(self.before),
                (tuple(self.after or ()),),
                self.first_handlers,
                self.transforms,
                self.resync_seconds,
            )
            problem = run(program)
            if problem is not None:
                error = FoundError((program, problem), f"{problem.summary}\n{program}")
                self.raised.append(error)
                raise error

    return InformerMachine


def run_examples(run: Run, examples: int, random_seed: int) -> tuple[InformerProgram, Problem] | None:
    """Run ``examples`` random programs; return the first failing program, not minimised, and its problem, or ``None``.

    Raises:
        TargetError: the informer cannot be created.
    """
    error = stateful.run_examples(make_state_machine(run), examples, random_seed, _STEPS)
    return None if error is None else error.found
