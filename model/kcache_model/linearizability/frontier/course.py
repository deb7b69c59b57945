"""The course of the judgement: stretch by stretch, response by response, with all configurations that are possible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Final

from ...items import Semantics
from ...verdict import Status
from .configuration import NOTHING_OWED, Configuration
from .contents import Version
from .dominance import undominated
from .placing import Placing
from .reads import Read
from .result import BudgetExhausted, FrontierResult, Purse
from .translation import PositionedCall, Translator
from .writes import Write

_LEAST_REMEMBERED: Final = 1_000


class Course:
    """Judges one stretch of calls after the other. At the end of each, all that it keeps is the frontier.

    Args:
        indexes: the names of the indices of the store.
        semantics: which generation of client-go decides.
        strict_errors: whether an error must be of the type that is due.
        purse: what may be spent.

    Attributes:
        result: set when there is no more to be judged, because nothing explains a call or the budget is used up.
    """

    def __init__(self, indexes: Iterable[str], semantics: Semantics, purse: Purse, *, strict_errors: bool) -> None:
        self._translator = Translator(indexes, semantics, strict_errors=strict_errors)
        self._purse = purse
        self._frontier = [Configuration(self._translator.indexes)]
        self._largest = 1
        self._judged = 0
        self._forget_at = _LEAST_REMEMBERED
        self.result: FrontierResult | None = None

    def judge(self, calls: Sequence[PositionedCall]) -> None:
        """Judge the next stretch.

        Args:
            calls: in the order of their invocations. All calls of earlier stretches ended before the first of these
                began; if one of these is pending, this is the last stretch.

        Raises:
            Unsuitable: there is an operation among them that the checker cannot judge.
        """
        if self.result is not None or not calls:
            return
        begun_with = [configuration.copy() for configuration in self._frontier]
        run = self._run(self._frontier, calls)
        if run.stopped_at is None:
            self._judged += len(calls)
            self._frontier = run.frontier
            self._translator.accept()
            self._forget()
        elif run.is_exhausted:
            self._conclude(Status.UNKNOWN, _responses(calls).index(run.stopped_at))
        else:
            self._conclude(Status.VIOLATION, *self._located(begun_with, calls, run.stopped_at))

    def finish(self) -> FrontierResult:
        """The answer, when there are no more calls."""
        if self.result is None:
            self._conclude(Status.OK, 0)
        assert self.result is not None
        return self.result

    def _conclude(self, status: Status, judged: int, position: int | None = None) -> None:
        self.result = FrontierResult(status, self._judged + judged, position, self._largest)

    def _run(self, frontier: list[Configuration], calls: Sequence[PositionedCall]) -> _Run:
        """Let each call of ``calls`` begin and end in turn. Changes the configurations that it is given."""
        stretch = self._translator.translate(calls)
        placing = Placing(stretch.upcoming, self._purse.spend)
        begun, waiting = stretch.begun, 0
        try:
            for version in stretch.recalled:
                frontier = _recalling(frontier, version)
            for call in stretch.ended:
                placing.now = now = call.returned
                while waiting < len(begun) and begun[waiting].invoked <= now:
                    _begin(frontier, begun[waiting])
                    waiting += 1
                frontier = _end(placing, frontier, call)
                if len(frontier) != 1:
                    if not frontier:
                        return _Run(frontier, call.position)
                    frontier = undominated(frontier)
                    self._largest = max(self._largest, len(frontier))
        except BudgetExhausted:
            return _Run(frontier, call.position, is_exhausted=True)
        finally:
            stretch.forget()
        return _Run(frontier)

    def _located(
        self, frontier: list[Configuration], calls: Sequence[PositionedCall], stopped_at: int
    ) -> tuple[int, int]:
        """How many responses there are up to the first that nothing explains, and the position of that call.

        The run may stop too early, because it looks ahead: what later reads returned counts from the beginning. So the
        shortest beginning of the calls that fails is searched for, by doubling and bisection from there.
        """
        responses = _responses(calls)
        good, bad = responses.index(stopped_at) - 1, len(responses) - 1
        step = 1
        while bad - good > 1:
            middle = min(good + step, (good + bad) // 2)
            run = self._run([each.copy() for each in frontier], _beginning(calls, responses[middle]))
            if run.is_exhausted:
                break
            if run.stopped_at is None:
                good, step = middle, 2 * step
            else:
                bad = middle
        return bad + 1, responses[bad]

    def _forget(self) -> None:
        """Now and then, forget the versions that are in no configuration."""
        if self._translator.remembered > self._forget_at:
            self._translator.keep(version for each in self._frontier for version in each.versions())
            self._forget_at = 2 * self._translator.remembered + _LEAST_REMEMBERED


@dataclass(frozen=True)
class _Run:
    """How far a run came.

    Attributes:
        frontier: the configurations after the last response.
        stopped_at: the position of the call at whose response it stopped, if it did not come to the end.
        is_exhausted: whether it stopped because the budget was used up.
    """

    frontier: list[Configuration]
    stopped_at: int | None = None
    is_exhausted: bool = False


def _recalling(frontier: list[Configuration], version: Version) -> list[Configuration]:
    """Those configurations in which ``version`` may be in the store; nothing else is left possible for its key."""
    found = []
    for configuration in frontier:
        alternatives = configuration.alternatives_of(version.key)
        if any(each is version for each, _ in alternatives):
            configuration.restrict(version.key, ((version, NOTHING_OWED),))
            found.append(configuration)
    return found


def _begin(frontier: list[Configuration], call: Read | Write) -> None:
    if isinstance(call, Write):
        for configuration in frontier:
            configuration.begin(call)
    else:
        for configuration in frontier:
            if not configuration.surely_holds(call):
                configuration.unsatisfied.append(call)


def _end(placing: Placing, frontier: list[Configuration], call: Read | Write) -> list[Configuration]:
    """The configurations after the response of ``call``."""
    after: list[Configuration] = []
    for configuration in frontier:
        if isinstance(call, Write):
            if call in configuration.open:
                after += placing.write(configuration, call)
            else:
                after.append(configuration)
        elif call in configuration.unsatisfied:
            after += placing.read(configuration, call)
        else:
            after.append(configuration)
    return after


def _responses(calls: Sequence[PositionedCall]) -> list[int]:
    """The positions of the calls that returned, in the order of their responses."""
    returned = [(call.returned, position) for position, call in calls if call.returned is not None]
    return [position for _, position in sorted(returned, key=itemgetter(0))]


def _beginning(calls: Sequence[PositionedCall], last: int) -> list[PositionedCall]:
    """The calls as they were right after the response of the call at position ``last``."""
    positions = _responses(calls)
    returned = set(positions[: positions.index(last) + 1])
    end = next(call.returned for position, call in calls if position == last)
    assert end is not None
    return [
        (position, call if position in returned else replace(call, returned=None, outcome=None))
        for position, call in calls
        if call.invoked <= end
    ]
