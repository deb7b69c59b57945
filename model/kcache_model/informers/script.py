"""Script of an informer program: Python code that can be pasted into a file and run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from .program import InformerProgram, Step
from .program import StepName as S

_CHANGES = frozenset({S.CREATE, S.UPDATE, S.DELETE, S.RECREATE})
_TO_A_HANDLER = frozenset({S.REMOVE_HANDLER, S.BLOCK_HANDLER, S.RELEASE_HANDLER, S.FAIL_HANDLER, S.AWAIT_HANDLER_SYNC})
_TO_THE_SERVER = frozenset(S) - _TO_A_HANDLER - {S.SETTLE, S.ADD_HANDLER, S.ADD_INDEXERS, S.STOP}


def script(program: InformerProgram, target: str) -> str:
    """Return the code, which runs the informer of ``target`` with a fake server and prints the calls of handlers."""
    body = list(_body(program, target.rpartition(":")[2]))
    return "\n".join((*_imports(target, "\n".join(body)), "", *body))


def _imports(target: str, body: str) -> Iterator[str]:
    location, _, name = target.rpartition(":")
    first = name.partition(".")[0]
    if "threading." in body:
        yield "import threading"
        yield ""
    if "ApiError(" in body:
        yield "from kcache.informers import ApiError"
    yield "from kcache.testing import FakeServer, PrintingHandler, print_content, settle"
    if location.endswith(".py"):
        yield f"from {Path(location).stem} import {first}  # {location}"
    else:
        yield f"from {location} import {first}"


def _body(program: InformerProgram, name: str) -> Iterator[str]:
    before = _Content(_fought_over(program), program.handlers)
    yield "server = FakeServer()"
    yield from _thread(program.before, before)
    options = f", resync_seconds={program.resync_seconds:g}" if program.resync_seconds else ""
    yield f"informer = {name}(server{options})"
    if program.transforms:
        yield 'informer.set_transform(lambda obj: {**obj, "transformed": obj.get("transformed", 0) + 1})'
    yield f'handlers = [PrintingHandler(f"handler {{number}}") for number in range({program.handlers})]'
    yield "for handler in handlers:"
    yield "    handler.registration = informer.add_event_handler(handler)"
    yield "informer.start()"
    yield from _others(program, before)
    yield from _thread(program.threads[0], before.copy())
    if len(program.threads) > 1:
        yield "for other in others:"
        yield "    other.join()"
    if any(step.name is S.BLOCK_HANDLER for step in program.steps()):
        yield "for handler in handlers:"
        yield "    handler.release()"
    yield "settle()"
    yield 'print_content("the server", server.snapshot().values())'
    yield 'print_content("the informer", informer.get_store().list())'
    yield "informer.stop()"


@dataclass
class _Content:
    """The content of the server, as far as it follows from the program.

    Attributes:
        fought_over: the names that several threads change, so that it is unknown whether the object exists.
        handlers: the number of handlers before the start.
        names: the names of the objects that exist.
        refuses_expired: whether the server refuses watches from a forgotten resource version.
    """

    fought_over: frozenset[str]
    handlers: int
    names: set[str] = field(default_factory=set)
    refuses_expired: bool = False

    def copy(self) -> _Content:
        """Return a copy, with which a thread starts."""
        return replace(self, names=set(self.names))

    def change(self, step: Step) -> Iterator[str]:
        """Yield the code of a change. As in the harness, a change of an object that does not exist has no code."""
        name = str(step.argument)
        is_there = None if name in self.fought_over else name in self.names
        condition = f"{f'default/{name}'!r} in server.snapshot()"
        if step.name is S.DELETE:
            self.names.discard(name)
        elif step.name is S.CREATE:
            self.names.add(name)
        match step.name:
            case S.CREATE if is_there is None:
                yield f"(server.update if {condition} else server.create)({name!r}, value=server.resource_version)"
            case S.CREATE if is_there:
                yield f"server.update({name!r}, value=server.resource_version)"
            case S.CREATE:
                yield f"server.create({name!r}, value=server.resource_version)"
            case _ if is_there is False:
                return
            case _:
                if is_there is None:
                    yield f"if {condition}:"
                yield f"{'' if is_there else '    '}{_CODE_OF_CHANGES[step.name].format(repr(name))}"


_CODE_OF_CHANGES = {
    S.UPDATE: "server.update_status({0}, value=server.resource_version)",
    S.DELETE: "server.delete({0})",
    S.RECREATE: "server.delete({0}); server.create({0})",
}

_CODE = {
    S.CUT: "server.cut_watches()",
    S.REPEAT: "for event in server.history()[-1:]:\n    server.inject(event)",
    S.BOOKMARK: "server.send_bookmark()",
    S.REFUSE_LISTS: "server.refuse_lists({0}, ApiError(500, 'InternalError'))",
    S.REFUSE_WATCHES: "server.refuse_watches({0}, ApiError(429, 'TooManyRequests'))",
    S.REFUSE_EXPIRED: "server.expires_in_stream = False",
    S.TOO_LARGE: "server.refuse_lists(1, ApiError(504, 'Timeout', 'Too large resource version: 9'))",
    S.GO_BACK: "server.serve_stale(str(int(server.resource_version) - {0}))",
    S.SETTLE: "server.serve_stale(None)\nsettle()",
    S.ADD_HANDLER: (
        'handlers.append(PrintingHandler(f"handler {{len(handlers)}}"))\n'
        "handlers[-1].registration = informer.add_event_handler(handlers[-1])"
    ),
    S.ADD_INDEXERS: "informer.add_indexers({{'by-{0}': lambda obj: [obj['spec'].get('value', '')]}})",
    S.STOP: "informer.stop()",
    S.REMOVE_HANDLER: "informer.remove_event_handler(handlers[{0}].registration)",
    S.BLOCK_HANDLER: "handlers[{0}].block()",
    S.RELEASE_HANDLER: "handlers[{0}].release()",
    S.FAIL_HANDLER: "handlers[{0}].fail_once()",
    S.AWAIT_HANDLER_SYNC: "while not handlers[{0}].registration.has_synced():\n    settle(0.01)",
}
"""Step -> its code, for steps whose code does not depend on the content of the server."""


def _fought_over(program: InformerProgram) -> frozenset[str]:
    changed = Counter(name for thread in program.threads for name in {name for step in thread for name in _names(step)})
    return frozenset(name for name, threads in changed.items() if threads > 1)


def _names(step: Step) -> tuple[str, ...]:
    """The names of the objects that a step changes."""
    name = str(step.argument)
    if step.name is S.SWAP:
        return name, chr(ord(name[0]) + 1)
    return (name,) if step.name in _CHANGES else ()


def _others(program: InformerProgram, before: _Content) -> Iterator[str]:
    """Yield the code of all threads except the first one."""
    if len(program.threads) == 1:
        return
    names = [f"thread_{number}" for number in range(2, len(program.threads) + 1)]
    for name, thread in zip(names, program.threads[1:], strict=True):
        yield from ("", "", f"def {name}():")
        yield from (f"    {line}" for line in [*_thread(thread, before.copy())] or ["pass"])
    yield from ("", "", f"others = [threading.Thread(target=work) for work in ({', '.join(names)},)]")
    yield "for other in others:"
    yield "    other.start()"


def _thread(steps: tuple[Step, ...], content: _Content) -> Iterator[str]:
    """Yield the code of the steps of one thread; the changes after a ``MISS`` are followed by the end of the watches.

    As in the harness, steps of a handler that does not exist, and of an informer that was stopped, are skipped.
    """
    position, is_stopped = 0, False
    while position < len(steps):
        step = steps[position]
        position += 1
        if step.name is not S.MISS:
            if step.name in _TO_THE_SERVER or not is_stopped:
                yield from _step(step, content)
            is_stopped = is_stopped or step.name is S.STOP
            continue
        yield "with server.lose_events():"
        missed: list[str] = []
        while position < len(steps) and steps[position].name in _CHANGES:
            missed += content.change(steps[position])
            position += 1
        yield from (f"    {line}" for line in missed or ["pass"])
        yield _expire(content)


def _expire(content: _Content) -> str:
    end = "cut_watches()" if content.refuses_expired else "end_watches_with_error(410, 'Expired')"
    return f"server.compact(); server.{end}"


def _step(step: Step, content: _Content) -> Iterator[str]:
    match step.name:
        case name if name in _CHANGES:
            yield from content.change(step)
        case S.EXPIRE:
            yield _expire(content)
        case S.SWAP:
            yield "with server.lose_events():"
            for changed in _names(step):
                yield from (f"    {line}" for line in content.change(Step(S.CREATE, changed)))
            yield "for event in reversed(server.history()[-2:]):"
            yield "    server.inject(event)"
        case name:
            content.refuses_expired = content.refuses_expired or name is S.REFUSE_EXPIRED
            lines = _CODE[name].format(step.argument).splitlines()
            if name in _TO_A_HANDLER and int(step.argument) >= content.handlers:
                yield f"if len(handlers) > {step.argument}:"
                lines = [f"    {line}" for line in lines]
            yield from lines
