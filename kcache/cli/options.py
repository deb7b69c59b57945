"""Options and parameter types that several commands share."""

from __future__ import annotations

import functools
import json
import re
import subprocess  # noqa: F401 - later, a select.py beside the target would take the place of the one that this imports
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from kcache import Semantics
from kcache_conformance.phases.suite_options import DEFAULT_TYPE, SuiteOptions
from kcache_conformance.runs.guessed_type import type_of_target
from kcache_conformance.targets.class_names import CLASS, PREFIX, parse_class_type_name
from kcache_conformance.targets.target_type import TargetType
from kcache_conformance.targets.target_types import SPECIFIED, TARGET_TYPES, target_type_named
from kcache_model.call_program import Cancelled
from kcache_model.errors import TargetError
from kcache_model.interleaved_program import LoopContract, Timeouts
from kcache_model.object_types.plain import plain_value
from kcache_model.rules import Contract

from .console import LONG_TOKEN, QUIET, VERBOSE, VERBOSITY
from .outputs import Outputs

F = TypeVar("F", bound=Callable[..., Any])

_UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_LONGEST_SECONDS = 7 * 24 * 3600.0
_CLUSTER_SECONDS = 10.0


def duration(_context: click.Context, _parameter: click.Parameter, value: str) -> float:
    """Option callback: seconds from ``30``, ``30s``, ``2m`` or ``1.5h``."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|)", value.strip())
    if match is None:
        raise click.BadParameter(f"{value!r} is not a duration; write for example 30s, 2m or 1.5h")
    seconds = float(match[1]) * _UNITS[match[2]]
    if not 0 < seconds <= _LONGEST_SECONDS:
        raise click.BadParameter(f"{value!r} is out of range; give more than 0 and at most 7 days")
    return seconds


def megabytes(_context: click.Context, _parameter: click.Parameter, value: str) -> float:
    """Option callback: megabytes from ``500MB`` or ``2GB``."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(MB|GB)", value.strip(), re.IGNORECASE)
    if match is None or float(match[1]) == 0:
        raise click.BadParameter(f"{value!r} is not a size; write for example 500MB or 2GB")
    return float(match[1]) * (1024.0 if match[2].upper() == "GB" else 1.0)


def json_value(_context: click.Context, _parameter: click.Parameter, value: str | None) -> Any:
    """Option callback: plain data from a JSON document; ``None`` if the option is not given."""
    if value is None:
        return None
    try:
        return plain_value(json.loads(value))
    except ValueError:
        raise click.BadParameter(f"{value!r} is not JSON; write for example 0 or '\"text\"'") from None


def target_argument(function: F) -> F:
    """Add the argument TARGET, its replacement ``--reference``, and ``--spec``, the model of a class."""
    model = click.option(
        "--spec",
        "model",
        metavar="MODEL",
        help="Compare a class with this model: MODULE:CLASS with the same methods, or a specification of `kcache "
        "judge`: map, counter, queue ... By default the class is compared with its own results in one thread.",
    )
    option = click.option(
        "--reference", "is_reference", is_flag=True, help="Use kcache's reference Indexer as the target."
    )
    return click.argument("target", required=False, callback=_from_pytest)(option(model(function)))


def _from_pytest(_: click.Context, __: click.Parameter, target: str | None) -> str | None:
    """Convert pytest's name of a test, ``FILE.py::TestClass::test``, into ``FILE.py:TestClass.test``."""
    file, separator, names = (target or "").partition(".py::")
    return f"{file}.py:{names.replace('::', '.')}" if separator else target


def budget_option(default: str, text: str, *names: str) -> Callable[[F], F]:
    """Return the option ``--budget``, with the command's default, help text and other names."""
    return click.option(
        "--budget",
        *names,
        "budget_seconds",
        callback=duration,
        metavar="DURATION",
        default=default,
        show_default=True,
        envvar="KCACHE_BUDGET",
        help=text,
    )


programs_option = click.option(
    "--programs",
    type=click.IntRange(min=1),
    metavar="NUMBER",
    envvar="KCACHE_PROGRAMS",
    help="Run this number of programs in each random phase, so that the outcome does not depend on the machine. "
    "Without --budget there is no time limit. With --budget, a phase ends at the limit that is reached first.",
)


def seed_option(text: str) -> Callable[[F], F]:
    """Return the option ``--seed``, with the help text of the command."""
    return click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, envvar="KCACHE_SEED", help=text
    )


semantics_option = click.option(
    "--semantics",
    type=click.Choice([semantics.value for semantics in Semantics]),
    callback=lambda _context, _parameter, value: Semantics(value),
    default=Semantics.CLASSIC.value,
    show_default=True,
    envvar="KCACHE_SEMANTICS",
    help="client-go v0.18 to v0.29 (classic), or v0.30 and later (current), which allows add_indexers on a store "
    "that holds objects.",
)
strict_errors_option = click.option(
    "--strict-errors",
    is_flag=True,
    help="Require kcache's error types. By default any error is accepted where an error is required.",
)
_STRICT = "kcache.strict"


def _note_strict(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    context.meta[_STRICT] = value


def contract_option(function: F) -> F:
    """Add the option ``--contract``, and its short form ``--strict``."""
    contract = click.option(
        "--contract",
        type=click.Choice([contract.value for contract in Contract]),
        callback=lambda context, _, value: Contract.STRICT if context.meta.get(_STRICT) else Contract(value),
        default=Contract.CLIENT_GO.value,
        show_default=True,
        envvar="KCACHE_CONTRACT",
        help="Report a violation if a promise of client-go is broken, or (strict) also if a further guarantee of "
        "kcache's reference is broken. Other findings are advice. `kcache rules` lists the rules of both contracts.",
    )
    strict = click.option(
        "--strict",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_note_strict,
        help="Short for --contract strict.",
    )
    return contract(strict(function))


def _note_verbosity(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if not value:
        return
    if context.meta.setdefault(VERBOSITY, parameter.name) != parameter.name:
        raise click.UsageError("give -q or -v, not both")


def verbosity_options(function: F) -> F:
    """Add ``-q``, ``-v`` and ``--long-token``; their values go to the context, where the console reads them."""
    texts = {
        QUIET: "Print one line: the verdict and the broken rules.",
        VERBOSE: "Print everything: every step of an interleaving, all calls, whole stacks.",
    }
    function = click.option(
        "--long-token",
        is_flag=True,
        expose_value=False,
        callback=lambda context, _, value: context.meta.update({LONG_TOKEN: True}) if value else None,
        help="Print whole replay tokens, which work on any machine, instead of short names that are kept in .kcache.",
    )(function)
    for name, text in reversed(texts.items()):
        function = click.option(
            f"-{name[0]}", f"--{name}", name, is_flag=True, expose_value=False, callback=_note_verbosity, help=text
        )(function)
    return function


patience_option = click.option(
    "--patience",
    "patience_seconds",
    callback=duration,
    metavar="DURATION",
    default="3s",
    show_default=True,
    envvar="KCACHE_PATIENCE",
    help="If one call takes longer than this, it counts as hung.",
)
instrument_option = click.option(
    "--instrument",
    multiple=True,
    metavar="PACKAGE",
    help="Also instrument this package; may be repeated. By default the package or folder of the target is "
    "instrumented.",
)


leave_out_option = click.option(
    "--leave-out",
    "leave_out",
    multiple=True,
    metavar="METHOD",
    help="Never call this method of a class, and do not require it; may be repeated.",
)


def jobs_option(text: str) -> Callable[[F], F]:
    """Return the option ``-j``, with the help text of the command."""
    return click.option("-j", "--jobs", type=click.IntRange(1, 256), default=1, show_default=True, help=text)


_dask_option = click.option(
    "--dask",
    metavar="ADDRESS",
    help="Use the dask cluster with this scheduler, for example tcp://host:8786; needs kcache[dask].",
)


def explorer_options(function: F) -> F:
    """Add the options that all commands of the explorer have."""
    for option in (
        patience_option,
        _dask_option,
        jobs_option("The number of worker processes."),
        strict_errors_option,
        semantics_option,
        instrument_option,
        leave_out_option,
    ):
        function = option(function)
    return function


data_races_option = click.option(
    "--data-races",
    is_flag=True,
    help="Also report data races: two accesses to the same location, at least one of them a write, and no "
    "synchronisation orders them. They are advice, because many are harmless; with --contract strict they are "
    "violations. Takes twice the time.",
)


timeouts_option = click.option(
    "--timeouts",
    type=click.Choice([contract.value for contract in Timeouts]),
    callback=lambda _context, _parameter, value: None if value is None else Timeouts(value),
    help="When a wait with a timeout may end although something else can go on, for tests: patient means never, if the "
    "timeout is 50 ms or more; any-time means at any moment; usual is patient for threads, and any-time for the timers "
    "of an event loop.  [default: what the test declares, or usual; of run pytest patient]",
)


cancel_option = click.option(
    "--cancel",
    type=click.IntRange(0, 3),
    metavar="NUMBER",
    help="Of async tests and classes: cancel this number of tasks in each execution, at each of their awaits. A task "
    "without which the others would wait or fail is not cancelled.  "
    "[default: what the test declares, or 0; for check with a class 1]",
)


def _cancelled_option(name: str, cancelled: Cancelled, text: str) -> Callable[[F], F]:
    return click.option(
        name,
        "cancelled",
        flag_value=cancelled.value,
        default=None,
        callback=lambda _context, _parameter, value: None if value is None else Cancelled(value),
        help=text,
    )


cancel_any_option = _cancelled_option(
    "--cancel-any", Cancelled.ANY, "With --cancel, for tests: also cancel the tasks that packages make for themselves."
)
_cancel_strict_option = _cancelled_option(
    "--cancel-strict",
    Cancelled.STRICT,
    "With --cancel, for classes: a call that is cancelled must have had no effect. Without this, it may have had its "
    "effect or none.",
)


def cancel_options(function: F) -> F:
    """Add the options about cancellations of commands for tests and classes."""
    for option in (_cancel_strict_option, cancel_any_option, cancel_option):
        function = option(function)
    return function


loop_option = click.option(
    "--loop",
    type=click.Choice([contract.value for contract in LoopContract]),
    callback=lambda _context, _parameter, value: None if value is None else LoopContract(value),
    help="The order in which ready callbacks of an event loop run, for async tests: that of asyncio, first in, first "
    "out; any-loop: any order, as in trio; or ideal: any order, and each timer may be late by any time. A finding "
    "names the strictest of them under which it occurs.  [default: what the test declares, or asyncio]",
)


@contextmanager
def executor(dask: str | None) -> Iterator[Executor | None]:
    """Open the executor that runs batches: the executor of a cluster, or ``None`` for this machine.

    Raises:
        click.UsageError: the package for clusters is not installed, or the cluster cannot be reached.
    """
    if dask is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError:
        raise click.UsageError('--dask needs the package distributed: pip install "kcache[dask]"') from None
    try:
        client = Client(dask, timeout=_CLUSTER_SECONDS)  # type: ignore[no-untyped-call,unused-ignore]
    except (OSError, ValueError) as error:
        raise click.UsageError(f"the dask cluster at {dask} cannot be reached: {error}") from None
    with client:
        yield client.get_executor()  # type: ignore[no-untyped-call,unused-ignore]


class _TargetTypeParameter(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """The name of a target type."""

    name = "type"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> TargetType | str:
        """Convert the name of a target type; return ``"class"`` unchanged if the target decides the type."""
        if isinstance(value, TargetType):
            return value
        if value == CLASS and ctx is not None and any(known.name == "model" for known in ctx.command.params):
            return CLASS  # the target decides which class type
        try:
            return target_type_named(value)
        except TargetError as error:
            self.fail(str(error), param, ctx)


def type_option(text: str) -> Callable[[F], F]:
    """Return the option ``--type``, with the help text of the command."""
    return click.option(
        "--type",
        "--kind",
        "target_type",
        type=_TargetTypeParameter(),
        default=DEFAULT_TYPE,
        show_default="indexer; test or class if TARGET is a function or a class without parameters",
        metavar="TYPE",
        help=f"{text} {', '.join(TARGET_TYPES)}, class, or MODULE:TYPE of your own.",
    )


def type_text(target_type: TargetType) -> str:
    """Return the options of a command line that select the type; empty for the default type."""
    if target_type.name.startswith(PREFIX):
        _, model, leave_out = parse_class_type_name(target_type.name)
        return "".join((f"--spec {model} " if model else "", *(f"--leave-out {name} " for name in leave_out)))
    if target_type.name.startswith(SPECIFIED):
        return f"--spec {target_type.name.removeprefix(SPECIFIED)} "
    return "" if target_type.name == DEFAULT_TYPE else f"--type {target_type.name} "


@dataclass(frozen=True)
class CommandRequest:
    """The arguments of a command line that several commands share.

    Attributes:
        kind: the name of the type of the target, ``class`` for any class; ``None`` if ``--type`` is not set.
        model: the model of a class; ``None`` if ``--spec`` is not set.
        outputs: the files for reports.
        target: the name of the target; ``None`` if there is no TARGET.
        is_reference: whether to use kcache's reference implementation.
        options: the options of a run, without the type.
        typed: the names of the options that the command line or the environment sets.
    """

    kind: str | None
    model: str | None
    outputs: Outputs
    target: str | None
    is_reference: bool
    options: SuiteOptions
    typed: frozenset[str] = frozenset()

    @functools.cached_property
    def target_type(self) -> TargetType:
        """The type of the target, if TARGET is no name of a target in a configuration file.

        Raises:
            click.UsageError: the type cannot be created.
        """
        try:
            return type_of_target(self.target, self.kind, self.model, self.options.leave_out)
        except TargetError as error:
            raise click.UsageError(str(error)) from None

    def resolved(self, *phases: str) -> tuple[str, SuiteOptions]:
        """Return the target, and the options of a run of these phases.

        An empty TARGET, such as an unset variable of a script, is an error, so that nothing is run by mistake.

        Raises:
            click.UsageError: an option is set that the target type does not have; neither TARGET nor ``--reference``
                is set, or both are, or TARGET is empty.
        """
        changes = {
            "semantics": self.options.semantics is not Semantics.CLASSIC,
            "contract": self.options.is_strict and not self.options.data_races,
            "timeouts": self.options.timeouts not in (None, Timeouts.USUAL),
            "cancel": bool(self.options.cancel),
            "cancel-any": self.options.cancelled is Cancelled.ANY,
            "cancel-strict": self.options.cancelled is Cancelled.STRICT,
            "loop": self.options.loop not in (None, LoopContract.ASYNCIO),
        }
        for name in (name for name, is_given in changes.items() if is_given and name not in self.target_type.knows):
            why = ": none of its methods that are called is async" if name.startswith("cancel") else ""
            raise click.UsageError(f"--{name} is not for --type {self.target_type.name}{why}")
        if self.options.threads is not None and "threads" not in self.target_type.knows:
            why = "its programs determine the number of threads"
            raise click.UsageError(f"--threads is not for --type {self.target_type.name}: {why}")
        if self.target == "":
            raise click.UsageError("TARGET is empty; write package.module:factory or path/to/file.py:factory")
        if self.target is None and not self.is_reference:
            raise click.UsageError("give a TARGET, or --reference for kcache's own implementation")
        if self.target is not None and self.is_reference:
            raise click.UsageError("give a TARGET or --reference, not both")
        target = self.target_type.reference if self.target is None else self.target
        return target, replace(self.options, kind=self.target_type.name, phases=phases)


def takes_request(function: Callable[..., None]) -> Callable[..., None]:
    """Pass TARGET, its type, the outputs, and all options that are fields of SuiteOptions as one argument ``request``.

    Put this decorator below the options, directly above the command.
    """

    @functools.wraps(function)
    def command(
        target: str | None, is_reference: bool, target_type: TargetType | str, outputs: Outputs, **arguments: Any
    ) -> None:
        shared = {field.name: arguments.pop(field.name) for field in fields(SuiteOptions) if field.name in arguments}
        kind = target_type if isinstance(target_type, str) else target_type.name
        request = CommandRequest(
            kind=kind if _is_typed("target_type") else None,
            model=arguments.pop("model", None),
            outputs=outputs,
            target=target,
            is_reference=is_reference,
            options=SuiteOptions(**shared),
            typed=_typed({*shared}),
        )
        function(request=request, **arguments)

    return command


def _typed(names: set[str]) -> frozenset[str]:
    """Return those of these options that the command line or the environment sets."""
    is_strict = click.get_current_context().meta.get(_STRICT)
    return frozenset({*filter(_is_typed, names), *(["contract"] if is_strict else [])})


def _is_typed(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
