"""Script of a queue program: Python code that can be pasted into a file and run."""

from __future__ import annotations

from collections.abc import Iterator

from ..history import FINAL_THREAD
from ..object_types.object_type import Remarks
from ..object_types.plain import import_lines, thread_lines
from .operations import CallName, Operation, Thing, Tombstone
from .program import QueueKind, QueueProgram


def script(program: QueueProgram, target: str, remarks: Remarks | None = None) -> str:
    """Return the code, which creates the queue of ``target``, runs the program, and prints the items handed out."""
    return "\n".join(_lines(program, target, remarks or {}))


def _lines(program: QueueProgram, target: str, remarks: Remarks) -> Iterator[str]:
    options = program.options
    if program.threads:
        yield "import threading"
        yield ""
    if options.known_objects or _has_tombstones(program):
        yield "import kcache"
    yield from import_lines(target)
    yield ""
    yield ""
    yield "def key_func(obj):"
    yield '    return obj["key"]'
    if options.transformer:
        yield ""
        yield ""
        yield "def transformer(obj):"
        if any(getattr(thing, "is_rejected", False) for thing in _things(program)):
            yield '    if obj.get("rejected"):'
            yield '        raise ValueError("rejected by the transformer")'
        yield '    return {**obj, "transformed": obj.get("transformed", 0) + 1}'
    yield from _process(program)
    yield ""
    yield ""
    arguments = ["key_func"]
    if options.known_objects:
        yield "known = kcache.new_store(lambda obj: getattr(obj, 'key', None) or obj['key'])"
        for version in program.known:
            yield f"known.add({object_code(version)})"
        arguments.append("known_objects=known")
    if options.transformer:
        arguments.append("transformer=transformer")
    flags = ("emit_delta_type_replaced", "atomic_events", "emit_delta_type_bookmark")
    arguments += [f"{name}=True" for name in flags if getattr(options, name)]
    yield f"queue = factory({', '.join(arguments)})"
    for position, operation in enumerate(program.prefix):
        yield from _call(operation, remarks.get((-1, position), ""))
    if program.threads:
        yield from _threads(program, remarks)


def _process(program: QueueProgram) -> Iterator[str]:
    yield ""
    yield ""
    yield "def process(item, is_in_initial_list):"
    if program.kind is QueueKind.FIFO:
        yield "    print(item, is_in_initial_list)"
    else:
        yield "    print([(str(delta.type), delta.object) for delta in item], is_in_initial_list)"
    if program.options.known_objects:
        yield "    for delta in item:"
        yield '        (known.delete if delta.type == "Deleted" else known.update)(delta.object)'
    if not all(operation.applies for operation in program.operations()):
        yield ""
        yield ""
        yield "def ignoring_process(item, is_in_initial_list):"
        yield "    print(item, is_in_initial_list)"
    if any(operation.fails for operation in program.operations()):
        yield ""
        yield ""
        yield "def failing_process(item, is_in_initial_list):"
        yield '    raise RuntimeError("as the program says")'


def _threads(program: QueueProgram, remarks: Remarks) -> Iterator[str]:
    yield from thread_lines(
        [
            [
                line
                for position, operation in enumerate(operations)
                for line in _call(operation, remarks.get((number, position), ""))
            ]
            for number, operations in enumerate(program.threads)
        ]
    )
    yield from (f"# then: {remark}" for (thread, _), remark in sorted(remarks.items()) if thread == FINAL_THREAD)


_QUESTIONS = frozenset({CallName.LENGTH, CallName.HAS_SYNCED, CallName.IS_CLOSED, CallName.KEY_OF})


def _call(operation: Operation, remark: str) -> Iterator[str]:
    name, arguments = operation.name, ", ".join(operation.arguments(object_code))
    if name is CallName.LENGTH:
        code = "len(queue)"
    elif name is CallName.KNOWN:
        yield f"# here {remark or 'the objects stored by the consumer are read'}"
        return
    else:
        code = f"queue.{name.value}({arguments})"
    if name in _QUESTIONS:
        code = f"print({code})"
    line = f"{code}  # {remark}" if remark else code
    if not _is_to_fail(operation):
        yield line
        return
    yield from ("try:", f"    {line}", "except Exception as error:", "    print(repr(error))")


def _is_to_fail(operation: Operation) -> bool:
    """Whether the call has an argument that cannot be queued or processed: then the script catches the error."""
    versions = [thing for thing in _things_of(operation) if not isinstance(thing, Tombstone)]
    return operation.fails or any(version.is_rejected or version.key is None for version in versions)


def object_code(thing: Thing | None) -> str:
    """Return an object as Python code."""
    if thing is None:
        return "None"
    if isinstance(thing, Tombstone):
        return f"kcache.DeletedFinalStateUnknown({thing.key!r}, {object_code(thing.obj)})"
    key = "" if thing.key is None else f'"key": "{thing.key}", '
    transformed = f', "transformed": {thing.transformed}' if thing.transformed else ""
    rejected = ', "rejected": True' if thing.is_rejected else ""
    return f'{{{key}"version": "{thing.stamp}"{transformed}{rejected}}}'


def _things(program: QueueProgram) -> Iterator[Thing]:
    for operation in program.operations():
        yield from _things_of(operation)


def _things_of(operation: Operation) -> Iterator[Thing]:
    yield from operation.objects
    if operation.thing is not None:
        yield operation.thing


def _has_tombstones(program: QueueProgram) -> bool:
    return any(isinstance(thing, Tombstone) for thing in _things(program))
