"""Picture on a page, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from kcache_model.indexers.program import History
from kcache_model.outcomes import Outcome
from kcache_model.verdict import Status

from .walking import Walk


@dataclass(frozen=True)
class Picture:
    """Calls as they overlapped in time, and the order drawn through them. Calls are named by position in the history.

    Attributes:
        history: the calls.
        order: the calls that the model could follow, one after another; empty if no order is drawn.
        core: the calls that cannot all be right.
        first_error: the first call that the order cannot explain.
        note: what the reader must know, for example that there is no order because the search gave up.
        expected: what the model gives at ``first_error``, after the order; ``None`` if that is not known.
        has_states: whether what the model holds between the calls of the order can be told: of Indexers.
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
    """A text in which every blank counts."""

    heading: str
    text: str


@dataclass(frozen=True)
class Page:
    """One page.

    Attributes:
        title: what was run.
        status: the verdict.
        headline: one sentence: what came out.
        paragraphs: why.
        label: the class of what is wrong, if it has a name.
        picture: the calls, if there is a history.
        tables: what is to be read in rows.
        details: what is to be read line by line.
        command: runs it again; empty if nothing can.
        walk: the interleaving, to be walked through step by step.
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
