"""Registry of search strategies: one line for each name that ``--strategy`` takes.

A new strategy is a module with a :class:`~kcache_stress.engine.strategy.Strategy`, and a line in :data:`STRATEGIES`.
The command line and its help follow from it. Other packages offer strategies by entry points, users by MODULE:STRATEGY.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any, Final, Protocol, TypeAlias

from kcache_model.errors import TargetError

from ..engine.dpor import Dpor
from ..engine.preemption_bounded import PreemptionBounded
from ..engine.strategy import Sampling, Strategy
from ..loading import load_object
from .guided import Guided
from .naive import Naive
from .partial_order_sampling import PartialOrderSampling
from .pct import Pct
from .random_walk import RandomWalk
from .selective_walk import SelectiveWalk

AUTO: Final = "auto"
"""The name of the choice of several strategies in turn, by what is searched."""
OPCODES: Final = "opcodes"
"""The name of samples of steps as small as an opcode, of code that is not rewritten: the granularity follows."""

ENTRY_POINTS: Final = "kcache.strategies"
"""The group of entry points under which other packages offer strategies."""


class StrategyOptions(Protocol):
    """The options that a strategy may depend on."""

    @property
    def seed(self) -> int:
        """The seed of everything random."""
        ...

    @property
    def preemptions(self) -> int:
        """The most preemptions of an execution, for searches that are bounded by them."""
        ...

    @property
    def depth(self) -> int:
        """The bug depth of PCT: the number of ordered events that a bug needs."""
        ...


CreateStrategy: TypeAlias = Callable[[Any], Strategy]
"""Creates a strategy for one search, from :class:`StrategyOptions`."""

STRATEGIES: Final[Mapping[str, Callable[[StrategyOptions], Strategy]]] = {
    "dpor": lambda _: Dpor(),
    "naive": lambda _: Naive(),
    "bounded": lambda options: PreemptionBounded(options.preemptions),
    "pos": lambda options: PartialOrderSampling(options.seed),
    "surw": lambda options: SelectiveWalk(options.seed),
    "guided": lambda options: Guided(options.seed),
    "pct": lambda options: Pct(options.seed, options.depth),
    "random": lambda options: RandomWalk(options.seed),
}
"""Name -> function that creates the strategy. ``auto`` and ``opcodes`` are missing: the exploration handles them."""

NAMES: Final = (AUTO, *STRATEGIES, OPCODES)
"""All names, in the order of the help."""


def sampling_names(options: StrategyOptions) -> tuple[str, ...]:
    """The names of strategies that draw schedules without end."""
    samplers = (name for name, create in STRATEGIES.items() if isinstance(create(options), Sampling))
    return (*samplers, OPCODES)


def strategy_named(name: str) -> CreateStrategy:
    """Return the factory of a strategy: from :data:`STRATEGIES`, an installed package, or MODULE:STRATEGY.

    Raises:
        TargetError: no strategy has this name; or, from the returned factory: its object is no strategy.
    """
    if name in STRATEGIES:
        return STRATEGIES[name]
    factory: Any
    if ":" in name:
        factory = load_object(name, wanted="STRATEGY")
    else:
        offered = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
        if name not in offered:
            known = ", ".join(dict.fromkeys([*NAMES, *offered]))
            raise TargetError(f"unknown strategy {name}; known are {known}, or write package.module:STRATEGY")
        factory = offered[name].load()
    return lambda options: _checked(name, factory(options))


def _checked(name: str, strategy: object) -> Strategy:
    if not isinstance(strategy, Strategy):
        raise TargetError(
            f"{name}(options) returned a {type(strategy).__name__}; it must return a kcache.extending.Strategy"
        )
    return strategy
