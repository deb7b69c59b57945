"""Pictures and pages as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from kcache_model.history import Call
from kcache_model.outcomes import Outcome
from kcache_model.verdict import Status

from .walking import Walk


class DrawnHistory(Protocol):
    """A history of calls on an object whose states can be shown between the calls."""

    @property
    def calls(self) -> tuple[Call[Any], ...]:
        """The calls."""
        ...

    def model(self) -> Model:
        """The specification of the object."""
        ...

    def initial(self) -> Any:
        """The state before the first call."""
        ...

    def facts(self, state: Any, /) -> Mapping[str, str]:
        """Name -> text of the properties of a state that are not items."""
        ...

    def changed_items(self, before: Any, after: Any, /) -> Iterable[tuple[str, str | None]]:
        """The keys whose items differ between two states, each with the text of its item now."""
        ...


class Model(Protocol):
    """A sequential specification that follows observed outcomes."""

    def respond(self, state: Any, operation: Any, observed: Outcome | None, /) -> tuple[Any, Outcome]:
        """The state after a call, and the outcome that the specification gives."""
        ...


@dataclass(frozen=True)
class PlainHistory:
    """Calls on an object whose states cannot be shown."""

    calls: tuple[Call[Any], ...]


@dataclass(frozen=True)
class Picture:
    """Calls as they overlapped in time, and an order drawn through them. Calls are named by position in the history.

    Attributes:
        history: the calls.
        order: the calls that the model can follow, one after another; empty if no order is drawn.
        core: the calls that cannot all be right.
        first_error: the first call that the order cannot explain.
        note: a note for the reader, for example that there is no order because the search gave up.
        expected: the model's result at ``first_error``, after the order; ``None`` if it is unknown.
    """

    history: DrawnHistory | PlainHistory
    order: tuple[int, ...] = ()
    core: tuple[int, ...] = ()
    first_error: int | None = None
    note: str = ""
    expected: Outcome | None = None


@dataclass(frozen=True)
class Table:
    """Rows of texts under a heading."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Detail:
    """A preformatted text."""

    heading: str
    text: str


@dataclass(frozen=True)
class Page:
    """One page.

    Attributes:
        title: the command line or the name of the run.
        status: the verdict.
        headline: the result in one sentence.
        paragraphs: the reasons.
        label: the class of the fault, if it has a name.
        picture: the calls, if there is a history.
        tables: further data as tables.
        details: preformatted texts.
        command: the command that replays it; empty if there is none.
        walk: the interleaving, step by step.
    """

    title: str
    status: Status
    headline: str
    paragraphs: tuple[str, ...] = ()
    picture: Picture | None = None
    tables: tuple[Table, ...] = ()
    details: tuple[Detail, ...] = ()
    command: str = ""
    label: str = ""
    walk: Walk | None = None
