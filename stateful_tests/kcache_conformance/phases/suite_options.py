"""The options of a run."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from math import inf
from typing import Any, Final

from kcache import Semantics
from kcache_model.call_program import Cancelled
from kcache_model.interleaved_program import LoopContract, Timeouts
from kcache_model.rules import Contract

DEFAULT_TYPE: Final = "indexer"

MOST_FINDINGS: Final = 20
"""The most findings of one run. If there are more, fixing these comes first."""

OLD_NAMES: Final = {"vectors": "recorded", "machine": "stateful", "scenarios": "litmus"}
"""Old name of a phase, still accepted -> its id."""


def phase_ids(names: Iterable[str], offered: Collection[str]) -> tuple[str, ...]:
    """Return the ids of the phases that a user names, once each; names that are not offered stay as they are."""

    def phase_id(name: str) -> str:
        current = OLD_NAMES.get(name, name)
        return current if name not in offered and current in offered else name

    return tuple(dict.fromkeys(map(phase_id, names)))


@dataclass(frozen=True)
class SuiteOptions:
    """The extent of a run.

    Attributes:
        semantics: the generation of client-go that defines correct results; for types that know it.
        strict_errors: require kcache's error types.
        contract: the promises that the target is judged by; for types that know it.
        seed: the seed of everything random.
        budget_seconds: for all phases together. Phases that end by themselves always run to their end.
        programs: how many programs each random phase runs; ``None`` for as many as there is time for.
        shrink_seconds: additional time to make a finding of a test small and to confirm it.
        patience_seconds: how long one call of the implementation may take.
        phases: which phases of the type to run; empty for all.
        threads: how many threads run at the same time under stress; ``None`` for a few, in varying numbers.
        kind: the name of the target type, see :data:`~.target_types.TARGET_TYPES`.
        instrument: further packages that the explorer instruments.
        most_findings: the number of distinct symptoms after which the run ends.
        declared: differences of the target, beside those that its factory declares; for types that know declarations.
        leave_out: the methods of a class that are never called; the name of its type contains them, too.
        waived: ids of rules, or ``RULE:CALL``, whose findings are not violations.
        shape: the most threads of a program, and the most calls of each; ``None`` for several shapes.
        data_races: let the explorer report data races, too; this takes an additional search for each program.
        parameters: the positions of a test's parameter values in its parametrization; for tests.
        import_path: the import path of the process that ran the test, see :mod:`kcache_stress.recorded_imports`; empty
            if modules are found as for any command.
        module_files: the files of the modules of that process.
        usual: exceptions that end threads of a test although the test passes, each with its place.
        timeouts: when waits with a timeout may end; for tests. ``None`` for what the test declares.
        cancel: the number of cancellations in one execution of an async test or class; ``None`` for the usual one.
        cancelled: which tasks of a test are cancelled, and whether a call of a class may then have had an effect;
            ``None`` for what the test declares.
        loop: the order in which ready callbacks of an event loop run; for tests. ``None`` for what the test declares.
    """

    semantics: Semantics = Semantics.CLASSIC
    strict_errors: bool = False
    contract: Contract = Contract.CLIENT_GO
    seed: int = 0
    budget_seconds: float = 30.0
    programs: int | None = None
    shrink_seconds: float = 0.0
    patience_seconds: float = 3.0
    phases: tuple[str, ...] = ()
    threads: int | None = None
    kind: str = DEFAULT_TYPE
    instrument: tuple[str, ...] = ()
    most_findings: int = MOST_FINDINGS
    declared: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    waived: tuple[str, ...] = ()
    shape: tuple[int, int] | None = None
    data_races: bool = False
    parameters: Mapping[str, int] = field(default_factory=dict, hash=False)
    import_path: tuple[str, ...] = ()
    module_files: Mapping[str, str] = field(default_factory=dict, hash=False)
    usual: tuple[str, ...] = ()
    timeouts: Timeouts | None = None
    cancel: int | None = None
    cancelled: Cancelled | None = None
    loop: LoopContract | None = None

    @property
    def is_strict(self) -> bool:
        """Whether the contract requires more than client-go promises."""
        return self.contract is Contract.STRICT

    def within(self, names: Container[str]) -> SuiteOptions:
        """Remove the time limit if only a number of programs is among the options ``names``."""
        is_counted = self.programs is not None and "budget_seconds" not in names
        return replace(self, budget_seconds=inf) if is_counted else self

    @property
    def budget_text(self) -> str:
        """The limits as text: ``30 s``, ``100 programs``, or ``30 s or 100 programs``."""
        seconds = "" if self.budget_seconds == inf else f"{self.budget_seconds:g} s"
        return " or ".join(filter(None, (seconds, "" if self.programs is None else f"{self.programs} programs")))


_ENUMS: Final[Mapping[str, type[Enum]]] = {
    "semantics": Semantics,
    "contract": Contract,
    "timeouts": Timeouts,
    "cancelled": Cancelled,
    "loop": LoopContract,
}


def encode_options(options: SuiteOptions) -> dict[str, Any]:
    """Return options as plain JSON."""
    values = {name: getattr(options, name) for name in _ENUMS}
    enums = {name: None if value is None else value.value for name, value in values.items()}
    return {**asdict(options), **enums}


def decode_options(data: Mapping[str, Any]) -> SuiteOptions:
    """Invert :func:`encode_options`."""
    return SuiteOptions(**decoded_fields(data))


def decoded_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of options that :func:`encode_options` has encoded."""
    fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    enums = {name: kind(fields[name]) for name, kind in _ENUMS.items() if fields[name] is not None}
    return {**fields, **enums}
