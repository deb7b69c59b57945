"""Recorded events: the place of an event in the target, and the values before and after it."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import FrameType

from kcache_model.interleaving import Switch

from .naming import attributes, is_library


@dataclass(frozen=True)
class Place:
    """Position of a thread in the target.

    Attributes:
        path: the path of the instrumented module; empty if the thread is in none.
        line: the line number.
        function: the name of the function.
        library: the method of the standard library that the function called; empty if none.
        called: the object of that method, if there is one.
        key: identifies the call of the library.
        frame: identifies the call of the function among the calls that are active at the same time.
        offset: the offset of the opcode in the function.
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
        """Whether a thread that was at ``before`` reaches the line anew: from another line, or once more in a loop."""
        if before is None or (self.path, self.line, self.frame) != (before.path, before.line, before.frame):
            return True
        return self.offset <= before.offset and (self.key is None or self.key != before.key)


@dataclass
class RecordedEvent:
    """One event, or consecutive events of one call of the standard library.

    Attributes:
        first: the position of the first event in the trace.
        last: the position of the last event.
        thread: the number of the thread.
        kind: the name of a kind of event, ``call`` or ``line``.
        name: the name of the object.
        slot: the part of the object, as a suffix of its name: ``['a']``, ``.x``, ``.method()``; empty for the whole.
        before: the text of the value before the event.
        after: the text of the value after the event; empty unless the event was a write.
        place: the position in the target.
        switch: the state of the thread that ran before, if it was another thread.
        held: the names of the locks that the thread holds.
        touched: (key of a location, whether it is changed) for each location that other threads may touch, too.
        wakes: the threads that need not wait any longer.
        call: the number of the call of the library, -1 for none; a call may have several recorded events.
        is_lookup: whether the event does not matter to a reader: it looks up a method, unless the method is replaced,
            or it waits for the clock, which is shown as a reading.
        task: the task of an event loop that runs; ``None`` outside of tasks.
    """

    first: int
    last: int
    thread: int
    kind: str
    name: str
    slot: str
    place: Place
    switch: Switch | None
    held: tuple[str, ...]
    before: str = ""
    after: str = ""
    touched: list[tuple[object, bool]] = field(default_factory=list)
    wakes: list[int] = field(default_factory=list)
    call: int = -1
    is_lookup: bool = False
    task: object = None


def event_state(obj: object) -> str:
    """Return ``set`` or ``not set`` for a ``threading.Event``; empty for other objects."""
    if is_library(obj) and type(obj).__name__ == "Event":
        return "set" if attributes(obj).get("_flag") else "not set"
    return ""


def place_of(frame: FrameType, library: FrameType | None) -> Place:
    """Return the position of the target in a frame, with the call of the library if there is one."""
    parts = [part for part in frame.f_code.co_qualname.split(".") if not part.startswith("<")]
    function = parts[-1] if parts else ""
    path, at = frame.f_code.co_filename, (id(frame), frame.f_lasti)
    if library is None:
        return Place(path, frame.f_lineno, function, frame=at[0], offset=at[1])
    called = library.f_locals.get("self")
    key = (id(library), id(library.f_code), *at)
    return Place(path, frame.f_lineno, function, library.f_code.co_name, called, key, *at)


def thread_name(frame: FrameType | None) -> str:
    """Return the name that the target has set for the running thread; empty if there is none."""
    while frame is not None:
        if frame.f_code.co_name == "_bootstrap_inner":
            name = attributes(frame.f_locals.get("self")).get("_name")
            if isinstance(name, str) and not name.startswith(("Thread-", "ThreadPoolExecutor-")):
                return name
        frame = frame.f_back
    return ""
