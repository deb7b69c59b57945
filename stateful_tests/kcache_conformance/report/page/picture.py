"""Pictures and pages as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from kcache_model.indexers.program import History
from kcache_model.outcomes import Outcome
from kcache_model.verdict import Status

from .walking import Walk


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
        has_states: whether the model's states between the calls can be shown, as for Indexers.
    """

    history: History
    order: tuple[int, ...] = ()
    core: tuple[int, ...] = ()
    first_error: int | None = None
    note: str = ""
    expected: Outcome | None = None
    has_states: bool = True


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
