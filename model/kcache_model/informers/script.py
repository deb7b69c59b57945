"""A program of an informer as Python code that can be pasted into a file and run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .program import InformerProgram, Step
from .program import StepName as S

_CHANGES = frozenset({S.CREATE, S.UPDATE, S.DELETE, S.RECREATE})


def script(program: InformerProgram, target: str) -> str:
    """The code: it makes the informer of ``target`` against a fake server, and prints what handlers are told."""
    return "\n".join(_lines(program, target))


def _lines(program: InformerProgram, target: str) -> Iterator[str]:
    location, _, name = target.rpartition(":")
    first = name.partition(".")[0]
    yield "import threading"
    yield ""
    yield "from kcache.informers import ApiError"
    yield "from kcache.testing import FakeServer, PrintingHandler, print_content, settle"
    if location.endswith(".py"):
        yield f"from {Path(location).stem} import {first}  # {location}"
    else:
        yield f"from {location} import {first}"
    yield ""
    yield "server = FakeServer()"
    yield from _thread(program.before)
    options = f", resync_seconds={program.resync_seconds:g}" if program.resync_seconds else ""
    yield f"informer = {name}(server{options})"
    if program.transforms:
        yield 'informer.set_transform(lambda obj: {**obj, "transformed": obj.get("transformed", 0) + 1})'
    yield f'handlers = [PrintingHandler(f"handler {{number}}") for number in range({program.handlers})]'
    yield "for handler in handlers:"
    yield "    handler.registration = informer.add_event_handler(handler)"
    yield "informer.start()"
    yield from _others(program)
    yield from _thread(program.threads[0])
    if len(program.threads) > 1:
        yield "for other in others:"
        yield "    other.join()"
    yield "settle()"
    yield 'print_content("the server", server.snapshot().values())'
    yield 'print_content("the informer", informer.get_store().list())'
    yield "informer.stop()"


def _others(program: InformerProgram) -> Iterator[str]:
    """The threads beside the first one."""
    if len(program.threads) == 1:
        return
    names = [f"thread_{number}" for number in range(2, len(program.threads) + 1)]
    for name, thread in zip(names, program.threads[1:], strict=True):
        yield from ("", "", f"def {name}():")
        yield from (f"    {line}" for line in [*_thread(thread)] or ["pass"])
    yield from ("", "", f"others = [threading.Thread(target=work) for work in ({', '.join(names)},)]")
    yield "for other in others:"
    yield "    other.start()"


def _thread(steps: tuple[Step, ...]) -> Iterator[str]:
    """The steps of one thread; changes that nobody sees are followed by the end of the watches."""
    position = 0
    while position < len(steps):
        step = steps[position]
        position += 1
        if step.name is not S.MISS:
            yield from _step(step)
            continue
        yield "with server.lose_events():"
        missed: list[str] = []
        while position < len(steps) and steps[position].name in _CHANGES:
            missed += _step(steps[position])
            position += 1
        yield from (f"    {line}" for line in missed or ["pass"])
        yield from _expire()


def _expire() -> Iterator[str]:
    yield "server.compact(); server.end_watches_with_error(410, 'Expired')"


def _step(step: Step) -> Iterator[str]:
    text, number = repr(step.argument), step.argument
    match step.name:
        case S.CREATE:
            # Changes an object that is there, as the harness does.
            change = f"(server.update if {f'default/{step.argument}'!r} in server.snapshot() else server.create)"
            yield f"{change}({text}, value=server.resource_version)"
        case S.UPDATE:
            yield f"server.update_status({text}, value=server.resource_version)"
        case S.DELETE:
            yield f"server.delete({text})"
        case S.RECREATE:
            yield f"server.delete({text}); server.create({text})"
        case S.CUT:
            yield "server.cut_watches()"
        case S.EXPIRE:
            yield from _expire()
        case S.REPEAT:
            yield "server.inject(server.history()[-1])"
        case S.SWAP:
            names = (str(step.argument), chr(ord(str(step.argument)[0]) + 1))
            yield "with server.lose_events():"
            for name in names:
                yield from (f"    {line}" for line in _step(Step(S.CREATE, name)))
            yield "for event in reversed(server.history()[-2:]):"
            yield "    server.inject(event)"
        case S.BOOKMARK:
            yield "server.send_bookmark()"
        case S.REFUSE_LISTS:
            yield f"server.refuse_lists({number}, ApiError(500, 'InternalError'))"
        case S.REFUSE_WATCHES:
            yield f"server.refuse_watches({number}, ApiError(429, 'TooManyRequests'))"
        case S.TOO_LARGE:
            yield "server.refuse_lists(1, ApiError(504, 'Timeout', 'Too large resource version: 9'))"
        case S.GO_BACK:
            yield f"server.serve_stale(str(int(server.resource_version) - {number}))"
        case S.SETTLE:
            yield "server.serve_stale(None)"
            yield "settle()"
        case S.ADD_HANDLER:
            yield 'handlers.append(PrintingHandler(f"handler {len(handlers)}"))'
            yield "handlers[-1].registration = informer.add_event_handler(handlers[-1])"
        case S.REMOVE_HANDLER:
            yield f"informer.remove_event_handler(handlers[{number}].registration)"
        case S.BLOCK_HANDLER:
            yield f"handlers[{number}].block()"
        case S.RELEASE_HANDLER:
            yield f"handlers[{number}].release()"
        case S.FAIL_HANDLER:
            yield f"handlers[{number}].fail_once()"
        case S.ADD_INDEXERS:
            yield f"informer.add_indexers({{'by-{number}': lambda obj: [obj['spec'].get('value', '')]}})"
        case S.AWAIT_HANDLER_SYNC:
            yield f"while not handlers[{number}].registration.has_synced():"
            yield "    settle(0.01)"
        case S.STOP:
            yield "informer.stop()"
