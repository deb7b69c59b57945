"""The Hypothesis state machine: random programs on a queue, beside the model, which says what would wait."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from hypothesis import seed
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from kcache_model.queues import operations as op
from kcache_model.queues.operations import CallName, Operation, Tombstone, Version
from kcache_model.queues.program import QueueKind, QueueOptions, QueueProgram
from kcache_model.target import TargetError
from kcache_model.watch import Watch

from ..phase import Coverage
from ..state_machine import quiet_settings
from .sequential import Hands, Mismatch, SequentialRun
from .target import TOMBSTONES, QueueTarget

KEYS = ("a", "b", "c")


class MismatchError(AssertionError):
    """The queue and the model disagree.

    Attributes:
        mismatch: how.
    """

    def __init__(self, mismatch: Mismatch) -> None:
        super().__init__(f"{mismatch.observed}; expected: {mismatch.expected}")
        self.mismatch = mismatch


def options_of(target: QueueTarget) -> st.SearchStrategy[QueueOptions]:
    """The ways in which a queue of the target can be made."""

    def flag(name: str) -> st.SearchStrategy[bool]:
        return st.booleans() if target.supports(name) else st.just(False)

    options = st.builds(
        QueueOptions,
        known_objects=flag("known_objects"),
        emit_delta_type_replaced=flag("emit_delta_type_replaced"),
        transformer=flag("transformer"),
        atomic_events=flag("atomic_events"),
        emit_delta_type_bookmark=flag("emit_delta_type_bookmark"),
    )
    return options.filter(lambda found: QueueProgram(target.kind, found).is_coherent)


def make_state_machine(
    target: QueueTarget,
    makes: Hands,
    watch: Watch,
    *,
    strict_errors: bool = False,
    patience_seconds: float = 1.0,
    coverage: Coverage | None = None,
) -> type[RuleBasedStateMachine]:
    """A state machine class for ``target``; a failing test case raises :class:`MismatchError`.

    Args:
        target: the implementation.
        makes: makes the calls.
        watch: told of each call before it is made.
        strict_errors: ask for kcache's error types.
        patience_seconds: how long a call may take.
        coverage: counts the operations done.
    """
    counted = Counter() if coverage is None else coverage
    keys = st.sampled_from(KEYS)
    keys_or_none = st.sampled_from((*KEYS, *KEYS, *KEYS, None))
    is_real = target.kind is QueueKind.REAL_FIFO
    with_tombstones = target.supports(TOMBSTONES)

    class QueueComparison(RuleBasedStateMachine):
        raised: ClassVar[list[Exception]] = []
        """What went wrong so far: Hypothesis keeps it to itself if it does not happen again."""

        @initialize(options=options_of(target), known=st.sets(keys))
        def create(self, options: QueueOptions, known: set[str]) -> None:
            self.made = 0
            self.is_wrong = False
            self.options = options
            transformed = int(options.transformer)
            content = (Version(key, f"{key}0", transformed=transformed) for key in sorted(known))
            program = QueueProgram(target.kind, options, tuple(content) if options.known_objects else ())
            try:
                self.run = SequentialRun(
                    target, program, makes, watch, strict_errors=strict_errors, patience_seconds=patience_seconds
                )
            except TargetError as error:
                self.raised.append(error)
                raise

        def version(self, key: str | None, *, is_rejected: bool = False) -> Version:
            self.made += 1
            return Version(key, f"{key or 'x'}{self.made}", is_rejected and self.options.transformer)

        def step(self, operation: Operation) -> None:
            mismatch = self.run.step(operation)
            if mismatch is not None:
                error = MismatchError(mismatch)
                self.raised.append(error)
                self.is_wrong = True
                raise error

        @rule(name=st.sampled_from((CallName.ADD, CallName.UPDATE)), key=keys_or_none, bad=st.integers(0, 7))
        def write(self, name: CallName, key: str | None, bad: int) -> None:
            self.step(Operation(name, self.version(key, is_rejected=bad == 0)))

        @rule(key=keys_or_none, bad=st.integers(0, 7))
        def delete(self, key: str | None, bad: int) -> None:
            self.step(op.delete(self.version(key, is_rejected=bad == 0)))

        @precondition(lambda _: with_tombstones)
        @rule(key=keys, has_object=st.booleans())
        def delete_tombstone(self, key: str, has_object: bool) -> None:
            self.step(op.delete(Tombstone(key, self.version(key) if has_object else None)))

        @rule(keys=st.lists(keys, max_size=4), bad=st.integers(0, 9), version=st.sampled_from(("", "7")))
        def replace(self, keys: list[str], bad: int, version: str) -> None:
            objects = [self.version(key) for key in keys]
            if bad == 0 and objects and not self.options.atomic_events:
                objects[-1] = self.version(None)
            elif bad == 1 and objects:
                objects[-1] = self.version(objects[-1].key, is_rejected=True)
            self.step(op.replace(*objects, resource_version=version))

        @rule()
        def resync(self) -> None:
            self.step(op.resync())

        @precondition(lambda self: not self.run.would_wait(op.pop()))
        @rule(fails=st.integers(0, 5))
        def pop(self, fails: int) -> None:
            self.step(op.pop(fails=fails == 0))
            self.step(op.has_synced())

        @precondition(lambda self: is_real and not self.run.would_wait(op.pop_batch()))
        @rule(fails=st.integers(0, 5))
        def pop_batch(self, fails: int) -> None:
            self.step(op.pop_batch(fails=fails == 0))
            self.step(op.has_synced())

        @precondition(lambda _: is_real)
        @rule()
        def bookmark(self) -> None:
            self.step(op.bookmark("9"))

        @rule(key=keys_or_none)
        def look(self, key: str | None) -> None:
            self.step(op.has_synced())
            self.step(op.length())
            self.step(op.key_of(self.version(key)))

        @rule(rarely=st.integers(0, 3))
        def close(self, rarely: int) -> None:
            if rarely == 0:
                self.step(op.close())
            self.step(op.is_closed())

        def teardown(self) -> None:
            run: SequentialRun | None = getattr(self, "run", None)
            if run is None:
                return
            try:
                if not self.is_wrong:
                    self.drain()
            finally:
                counted.update(run.coverage)

        def drain(self) -> None:
            """Whatever is left is handed out after the queue was closed, then nothing."""
            self.step(op.close())
            while True:
                self.step(op.pop())
                if not self.run.has_more():
                    break
            self.step(op.pop())
            self.step(op.known())

    return QueueComparison


def run_examples(machine: type[RuleBasedStateMachine], examples: int, random_seed: int) -> Mismatch | None:
    """Run ``examples`` random programs; what the first failing one shows, or ``None``. Nothing is made smaller.

    Raises:
        TargetError: the factory raised.
    """
    try:
        run_state_machine_as_test(seed(random_seed)(machine), settings=quiet_settings(examples))
    except MismatchError as found:
        return found.mismatch
    except Flaky:
        raised: list[Exception] = getattr(machine, "raised", [])
        for error in raised:
            if isinstance(error, MismatchError):
                return error.mismatch
            raise error from None
        raise
    return None
