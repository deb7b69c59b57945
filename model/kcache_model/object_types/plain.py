"""Object types in a few lines: methods with plain arguments, and a specification of one function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from ..call_program import CallProgram, Cancelled
from ..codec import Codec
from ..decoding import Json, fields_of, is_integer, list_of, member_of, shown, text_of, texts_of
from ..errors import FormatError, TargetError
from ..history import FINAL_THREAD
from ..outcomes import Outcome, error_text, raised, returned
from ..render import printable_line
from ..target_name import target_name
from .loop_thread import created_in_loop
from .method_call import RESULTS, Form, LateArgument, MethodCall, ResultOf, result_name
from .object_type import ObjectType, ReadBack, Remarks
from .plain_driver import PlainDriver, plain_value
from .specification import Specification
from .vocabulary import OperationTemplate, Vocabulary, alphabet
from .whole_blocks import is_whole, with_ends

__all__ = [
    "Applies",
    "Functional",
    "LateArgument",
    "MethodCall",
    "ObjectProgram",
    "PlainDriver",
    "PlainTarget",
    "import_lines",
    "imports_of",
    "known_call",
    "known_methods",
    "method",
    "object_type",
    "plain_argument",
    "plain_codec",
    "plain_value",
    "thread_lines",
]


@dataclass(frozen=True)
class ObjectProgram(CallProgram[MethodCall]):
    """Method calls on one object, which ``factory()`` creates."""

    prefix: tuple[MethodCall, ...] = ()
    threads: tuple[tuple[MethodCall, ...], ...] = ()
    cancellations: int = 0
    """Number of calls that the environment may cancel in one execution, if the calls are awaited."""
    cancelled: Cancelled = Cancelled.USUAL
    """Whether a call that is cancelled must have had no effect."""


def method(
    name: str, *arguments: Sequence[Any], is_write: bool = True, weight: float = 1.0, is_optional: bool = False
) -> OperationTemplate:
    """Create the template for the calls of one method of the objects of a type.

    Args:
        name: the name of the method.
        arguments: for each argument, the values to try.
        is_write: whether the method may change anything.
        weight: the frequency of its calls, relative to the other methods.
        is_optional: whether a target may lack the method.

    Raises:
        TargetError: the values of an argument are not a list with at least one item.
    """
    for values in arguments:
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise TargetError(f"method({name!r}, ...): {values!r} must be a list of the values to try for one argument")
    return OperationTemplate(
        name, lambda _number, *values: MethodCall(name, values, is_write), arguments, weight, is_optional
    )


class Applies(Protocol):
    """A specification in one function."""

    def initial(self) -> Any:
        """The state of a new object; hashable."""
        ...

    def apply(self, state: Any, operation: MethodCall, /) -> tuple[Any, Any] | None:
        """Return the next state and the result of the call; ``None`` if the call waits.

        If the call must raise, raise the exception or return it in place of the result.
        """
        ...


@dataclass(frozen=True)
class Functional:
    """The specification of an object whose calls have exactly one possible outcome in each state."""

    applies: Applies

    def initial(self, program: ObjectProgram | None = None) -> Any:  # noqa: ARG002
        """The state of a new object."""
        return self.applies.initial()

    def effects(self, state: Any, operation: MethodCall) -> Sequence[tuple[Any, Outcome]]:
        """The next state and the outcome of the call, as a list of one pair; an empty list if the call waits.

        Raises:
            TargetError: the specification has an error: ``apply`` raised by mistake, returned no pair, or returned a
                state that is not hashable.
        """
        try:
            found = self.applies.apply(state, operation)
        except _MISTAKES as error:
            raise self._failed(
                state, operation, f"raised {error_text(error)}; if the call must raise it, return it"
            ) from error
        except Exception as error:
            return [(state, raised(type(error).__name__))]
        if found is None:
            return []
        if not isinstance(found, tuple) or len(found) != 2:
            raise self._failed(
                state, operation, f"returned {found!r}; return the next state and the result of the call"
            )
        after, value = found
        try:
            hash(after)
        except TypeError:
            what = f"returned the state {after!r}, which is not hashable; use tuples and frozensets"
            raise self._failed(state, operation, what) from None
        is_error = isinstance(value, BaseException)
        return [(after, raised(type(value).__name__) if is_error else returned(plain_value(value)))]

    def _failed(self, state: Any, operation: MethodCall, what: str) -> TargetError:
        name = type(self.applies).__name__
        return TargetError(f"the specification {name} cannot be used: apply({state!r}, {operation}) {what}")


_MISTAKES = (AttributeError, NameError, TypeError)
"""Exceptions of ``apply`` that count as programming errors of the specification, not as outcomes of the call."""


@dataclass(frozen=True)
class PlainTarget:
    """A factory without arguments.

    Attributes:
        name: the name of the factory in reports.
        factory: creates a new object.
        unsupported: the names of the methods that its objects lack.
    """

    name: str
    factory: Callable[[], Any]
    unsupported: frozenset[str] = frozenset()

    def allows_call(self, operation: MethodCall) -> bool:
        """Whether its objects have the method."""
        whose = operation if operation.of is None else operation.of
        return self.unsupported.isdisjoint((operation.name, whose.name, whose.attribute))


def object_type(
    name: str,
    *,
    reference: str,
    specification: Applies | Specification[ObjectProgram, Any],
    vocabulary: Sequence[OperationTemplate],
    summary: str = "",
    called: str = "",
    litmus_tests: Sequence[Sequence[Sequence[MethodCall]]] = (),
    compares_results: bool = False,
    reads: frozenset[str] = frozenset(),
) -> ObjectType:
    """Create an object type whose objects ``factory()`` creates, and whose calls take and return plain data.

    Args:
        name: the value of ``--type``.
        reference: the name of a correct target, ``package.module:factory``.
        specification: the results of calls that run one at a time: one function, or any specification.
        vocabulary: the methods that programs may call, see :func:`method`.
        summary: a description of an object of this type, in a few words.
        called: the noun for an object in texts; by default the name.
        litmus_tests: programs to try first: for each thread, its calls.
        compares_results: whether programs compare which calls return the same object.
        reads: the names of calls that read the object back at the end, in addition to those that change nothing.
    """
    words: Vocabulary = tuple(vocabulary)
    given: Any = specification
    whole = given if hasattr(given, "effects") else Functional(given)
    codec = plain_codec(words)
    return ObjectType(
        name=name,
        summary=summary or name,
        called=called or name.replace("-", "_"),
        reference=reference,
        specification=lambda _: whole,
        driver=PlainDriver,
        make_target=lambda factory, spec: _target(factory, spec, words),
        stand_in=lambda spec, unsupported: PlainTarget(spec, _never_made, unsupported),
        vocabulary=words,
        ways=lambda _: (ObjectProgram(),),
        usual_ways=lambda _: (ObjectProgram(),),
        smoke=tuple(alphabet(words, 0)),
        read_back=lambda _: _reads(words, reads, compares_results),
        exact_errors=True,
        codec=codec,
        script=_script,
        litmus_tests=lambda _: [ObjectProgram(threads=tuple(map(tuple, test))) for test in litmus_tests],
        is_valid=is_whole,
        completed=with_ends,
    )


def plain_argument(data: Any) -> Any:
    """Decode an argument: plain data, or ``{"result_of": name}`` for the result of a call.

    Raises:
        FormatError: the data is a JSON object of another form.
    """
    if not isinstance(data, dict):
        return plain_value(data)
    return ResultOf(text_of(fields_of(data, "an argument", {"result_of"}, set())["result_of"]))


def plain_codec(vocabulary: Vocabulary, argument: Callable[[Any], Any] = plain_argument) -> Codec:
    """Create the codec for programs whose calls have plain arguments.

    Args:
        vocabulary: the known methods; if it is empty, any method is known.
        argument: decodes an argument.
    """
    decode = partial(_decode_operation, known_methods(vocabulary), argument)
    return Codec(_encode, partial(_decode, decode), _encode_operation, decode)


def known_methods(vocabulary: Vocabulary) -> dict[tuple[str, int], MethodCall]:
    """Map (name, number of arguments) to a call of the method, for all methods of a vocabulary."""
    first = [next(template.smallest(0)) for template in vocabulary]
    known = {(operation.name, len(operation.arguments)): operation for operation in first}
    return known | {(RESULTS.name, 0): RESULTS} if known else known


def _never_made() -> Any:
    raise AssertionError("only asked what it supports")


def _target(factory: Any, name: str, vocabulary: Vocabulary) -> PlainTarget:
    if not callable(factory):
        raise TargetError(f"{name} is a {type(factory).__name__}; a factory without arguments is needed: factory()")
    try:
        inspect.signature(factory).bind()
    except TypeError:
        raise TargetError(f"{name} is called without arguments; write a function that creates the object") from None
    except ValueError:
        pass
    try:
        made = _new_object(factory)
    except (Exception, SystemExit) as error:
        raise TargetError(f"{name}() raised {error_text(error)}; it must return a new object") from error
    missing = {template.name for template in vocabulary if not _offers(made, template)}
    required = sorted(template.name for template in vocabulary if template.name in missing and not template.is_optional)
    if required:
        raise TargetError(f"the {type(made).__name__} that {name} returned has no {', '.join(required)}")
    return PlainTarget(name, factory, frozenset(missing))


def _new_object(factory: Callable[[], Any]) -> Any:
    """Return a new object; if its class needs a running event loop, of one."""
    try:
        return factory()
    except RuntimeError as error:
        if "event loop" not in str(error):
            raise
    return created_in_loop(factory)


def _offers(made: Any, template: OperationTemplate) -> bool:
    operation = next(template.smallest(0))
    if operation.of is not None:  # a trial has found its object
        return True
    if operation.form is not Form.CALL:  # reading a property may raise or change the object, so look at the type first
        return hasattr(type(made), operation.attribute) or hasattr(made, operation.attribute)
    return callable(getattr(made, operation.attribute, None))


def _reads(vocabulary: Vocabulary, names: frozenset[str], compares_results: bool) -> ReadBack:
    # With an optional argument, a call that only reads may change something: `truncate()`, `truncate(size=1)`.
    plain = (call for call in alphabet(vocabulary, 0) if not (call.is_write and call.arguments))
    reads = [call for call in plain if not call.is_write or call.name in names]
    return [*reads, RESULTS] if compares_results else reads


def _encode(program: ObjectProgram) -> Json:
    def calls(operations: Sequence[MethodCall]) -> list[Json]:
        return list(map(_encode_operation, operations))

    data: Json = {"prefix": calls(program.prefix), "threads": [calls(thread) for thread in program.threads]}
    if program.cancelled is not Cancelled.USUAL:
        data["cancelled"] = program.cancelled.value
    return {**data, "cancel": program.cancellations} if program.cancellations else data


def _encode_operation(operation: MethodCall) -> Json:
    arguments = [value.json() if isinstance(value, LateArgument) else value for value in operation.arguments]
    data: Json = {"op": operation.name, "arguments": arguments}
    if operation.form is not Form.CALL:
        data["form"] = operation.form.value
    if operation.is_async:
        data["async"] = True
    if operation.keywords:
        data["keywords"] = list(operation.keywords)
    before = (("of", operation.of), ("after", operation.after))
    return data | {name: _encode_operation(call) for name, call in before if call is not None}


def _decode(decode_operation: Callable[[Any], MethodCall], data: Any) -> ObjectProgram:
    def calls(data: Any) -> tuple[MethodCall, ...]:
        return tuple(map(decode_operation, list_of(data)))

    fields = fields_of(data, "a program", {"prefix", "threads"}, {"cancel", "cancelled"})
    threads = tuple(map(calls, list_of(fields["threads"])))
    cancellations = fields.get("cancel", 0)
    if not is_integer(cancellations) or cancellations < 0:
        raise FormatError(f"{shown(cancellations)} is no number of cancellations")
    cancelled = fields.get("cancelled", Cancelled.USUAL)
    if cancelled not in [*Cancelled]:
        raise FormatError(f"{shown(cancelled)} is no contract about cancellations")
    return ObjectProgram(calls(fields["prefix"]), threads, cancellations, Cancelled(cancelled))


def _decode_operation(
    known: Mapping[tuple[str, int], MethodCall], argument: Callable[[Any], Any], data: Any
) -> MethodCall:
    fields = fields_of(data, "an operation", {"op"}, {"arguments", "async", "form", "keywords", "of", "after"})
    arguments = tuple(map(argument, list_of(fields.get("arguments", []))))
    name, keywords = text_of(fields["op"]), texts_of(fields.get("keywords", []))
    of, after = (_decode_operation(known, argument, fields[one]) if one in fields else None for one in ("of", "after"))
    if known:
        always = {word for call in known.values() if call.name == name for word in call.keywords}
        optional = tuple(word for word in keywords if word not in always)
        call = known_call(known, name, arguments[: len(arguments) - len(optional)])
        return replace(call, arguments=arguments, keywords=(*call.keywords, *optional), of=of, after=after)
    form = member_of(Form, fields.get("form", Form.CALL.value), "form of a call")
    is_async = fields.get("async") is True
    return MethodCall(name, arguments, form is not Form.RESULTS, form, keywords, is_async, of, after)


def known_call(known: Mapping[tuple[str, int], MethodCall], name: str, arguments: tuple[Any, ...]) -> MethodCall:
    """Create a call of a known method.

    Args:
        known: (name, number of arguments) -> a call of the method; if it is empty, any method is known.
        name: the name of the method.
        arguments: plain, immutable data.

    Raises:
        FormatError: the method is not known, or takes another number of arguments.
    """
    if not known:
        return MethodCall(name, arguments)
    takes = [number for method_name, number in known if method_name == name]
    if not takes:
        raise FormatError(
            f"unknown operation {shown(name)}; known are: {', '.join(dict.fromkeys(name for name, _ in known))}"
        )
    if len(arguments) not in takes:
        numbers = " or ".join(map(str, takes))
        raise FormatError(
            f"{name} takes {numbers} argument{'s' * (takes != [1])}, not {len(arguments)}: {shown(list(arguments))}"
        )
    return replace(known[name, len(arguments)], arguments=arguments)


def imports_of(program: ObjectProgram) -> list[str]:
    """The lines of Python that the arguments of the calls of a program need."""
    calls = (*program.prefix, *(call for thread in program.threads for call in thread))
    made = (value for call in calls for value in call.arguments if isinstance(value, LateArgument))
    return sorted({line for value in made for line in value.imports()})


def _script(program: ObjectProgram, target: str, remarks: Remarks) -> str:
    return "\n".join(_lines(program, target, remarks))


def _lines(program: ObjectProgram, target: str, remarks: Remarks) -> Iterator[str]:
    needed = {name for operation in program.operations() for name in operation.needs}

    def line(thread: int, position: int, operation: MethodCall) -> str:
        remark = printable_line(remarks.get((thread, position), ""))
        code = operation.code()
        if operation.name in needed:
            before, enter = code.rsplit("; ", 1) if operation.form is Form.ENTER else ("", code)
            code = f"{before}{'; ' if before else ''}{result_name(operation.name)} = {enter}"
        return f"{code}  # {remark}" if remark else code

    is_async = any(operation.is_async for operation in program.operations())
    if program.threads or is_async:
        yield "import asyncio" if is_async else "import threading"
    lines, found, call = _imported(target)
    yield from dict.fromkeys((*imports_of(program), *lines))
    first = next((own[0] for own in (program.prefix, *program.threads) if own), MethodCall)
    making = [made.format(f"{found}{call or '()'}") for made in first.making]
    before = [*making, *(line(-1, position, operation) for position, operation in enumerate(program.prefix))]
    threads = [[line(number, *call) for call in enumerate(own)] for number, own in enumerate(program.threads)]
    after = [
        f"# then: {printable_line(remark)}" for (thread, _), remark in sorted(remarks.items()) if thread == FINAL_THREAD
    ]
    if is_async:
        yield from _task_lines(before, threads, after)
        return
    yield from before
    yield from thread_lines(threads)
    yield from after


def _task_lines(before: Sequence[str], threads: Sequence[Sequence[str]], after: Sequence[str]) -> Iterator[str]:
    """Yield lines that run each list of lines in a task of its own, in one event loop."""
    yield from ("", "async def main():", *(f"    {line}" for line in before))
    for number, lines in enumerate(threads, 1):
        yield from ("", f"    async def task_{number}():", *(f"        {line}" for line in lines))
    tasks = ", ".join(f"task_{number}()" for number in range(1, len(threads) + 1))
    yield from (["", f"    await asyncio.gather({tasks}, return_exceptions=True)"] if threads else [])
    yield from (*(f"    {line}" for line in after), "", "", "asyncio.run(main())")


def import_lines(target: str) -> Iterator[str]:
    """Yield lines of Python that bind ``factory`` to the target with a given name."""
    lines, found, call = _imported(target)
    yield from lines
    yield f"factory = lambda: {found}{call}" if call else f"factory = {found}"


def _imported(target: str) -> tuple[list[str], str, str]:
    """Lines that import the target with a given name, the expression for it, and the arguments in its name."""
    named = target_name(target)
    location = named.location
    first = named.attribute.partition(".")[0]
    lines = [f"from {location} import {first}"] if location else []
    if location.endswith(".py"):
        lines = [f"from {Path(location).stem} import {first}  # {location}"]
    return [*lines, ""], named.attribute, named.call


def thread_lines(threads: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield lines that run each list of lines in a thread of its own; no lines if there are no threads."""
    if not threads:
        return
    for number, lines in enumerate(threads):
        yield ""
        yield ""
        yield f"def thread_{number + 1}():"
        yield from (f"    {line}" for line in lines)
    names = ", ".join(f"thread_{number + 1}" for number in range(len(threads)))
    yield ""
    yield ""
    yield f"threads = [threading.Thread(target=work) for work in ({names}{',' if len(threads) == 1 else ''})]"
    yield "for thread in threads:"
    yield "    thread.start()"
    yield "for thread in threads:"
    yield "    thread.join()"
