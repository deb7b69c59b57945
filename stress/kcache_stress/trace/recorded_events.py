"""Recorded events: where single events happen in the target, and what they find and leave."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import FrameType

from kcache_model.interleaving import Switch

from .naming import attributes, is_library


@dataclass(frozen=True)
class Place:
    """Where in the target a thread is.

    Attributes:
        path: of the instrumented module; empty if it is in none.
        line: its number there.
        function: the name of the function.
        library: the method of the standard library that the function called; empty if none.
        called: of what object, if of any.
        key: tells calls of the library apart.
        frame: tells calls of the function apart, of those that go on at the same time.
        offset: of the opcode in the function.
    """

    path: str = ""
    line: int = 0
    function: str = ""
    library: str = ""
    called: object = None
    key: object = None
    frame: int = 0
    offset: int = 0

    def arrives(self, before: Place | None) -> bool:
        """Whether a thread that was at ``before`` comes to the line anew: from elsewhere, or once more."""
        if before is None or (self.path, self.line, self.frame) != (before.path, before.line, before.frame):
            return True
        return self.offset <= before.offset and (self.key is None or self.key != before.key)


@dataclass
class RecordedEvent:
    """One event, or those in a row that belong to one call of the standard library.

    Attributes:
        first: its position in the trace.
        last: of the last of them.
        thread: who.
        kind: what it did: a name of a kind of event, ``call`` or ``line``.
        name: what it did it to.
        slot: which part of that, to be read on: ``['a']``, ``.x``, ``.method()``; empty if the whole.
        before: what was there.
        after: what is there afterwards; empty unless it was a write.
        place: where.
        left: how the thread that ran before was left, if it was another one.
        held: the names of the locks that the thread holds.
        touched: what it shares with other threads if they touch it too, and whether it changes that.
        wakes: the threads that need not wait any longer.
        call: which call of the library it belongs to, if any; a call may take several.
        is_lookup: whether it says nothing to a reader: it finds a method, unless that is exchanged, or it waits for the
            clock, which is shown as a reading.
    """

    first: int
    last: int
    thread: int
    kind: str
    name: str
    slot: str
    place: Place
    left: Switch | None
    held: tuple[str, ...]
    before: str = ""
    after: str = ""
    touched: list[tuple[object, bool]] = field(default_factory=list)
    wakes: list[int] = field(default_factory=list)
    call: int = -1
    is_lookup: bool = False


def event_state(obj: object) -> str:
    """What is to be known of an Event after a call."""
    if is_library(obj) and type(obj).__name__ == "Event":
        return "set" if attributes(obj).get("_flag") else "not set"
    return ""


def place_of(frame: FrameType, library: FrameType | None) -> Place:
    """Where the target stands in a frame, and what it called of the library, if it did."""
    parts = [part for part in frame.f_code.co_qualname.split(".") if not part.startswith("<")]
    function = parts[-1] if parts else ""
    path, at = frame.f_code.co_filename, (id(frame), frame.f_lasti)
    if library is None:
        return Place(path, frame.f_lineno, function, frame=at[0], offset=at[1])
    called = library.f_locals.get("self")
    key = (id(library), id(library.f_code), *at)
    return Place(path, frame.f_lineno, function, library.f_code.co_name, called, key, *at)


def thread_name(frame: FrameType | None) -> str:
    """The name that the target gave to the running thread; empty if it gave none."""
    while frame is not None:
        if frame.f_code.co_name == "_bootstrap_inner":
            name = attributes(frame.f_locals.get("self")).get("_name")
            if isinstance(name, str) and not name.startswith(("Thread-", "ThreadPoolExecutor-")):
                return name
        frame = frame.f_back
    return ""
