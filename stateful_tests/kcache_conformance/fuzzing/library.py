"""Functions to fuzz index and key functions in your own tests."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from kcache_conformance.report.capturing import captured
from kcache_model.rules import Contract
from kcache_model.verdict import Status
from kcache_stress.loading import importable_spec

from ..errors import InconclusiveError
from .options import DEFAULT_SECONDS, FuzzOptions
from .report import FuzzError, FuzzReport
from .report_text import print_report
from .rules import Kind, Rule
from .session import fuzz
from .sources import Sources
from .subject import load_subject, make_subject

T = TypeVar("T")


def fuzz_index_func(
    function: str | Callable[[Any], Any],
    objects: Any = None,
    *,
    seconds: float = DEFAULT_SECONDS,
    seed: int = 0,
    strict: bool = False,
    most_values: int | None = None,
    patience_seconds: float = 3.0,
    only: Iterable[Rule | str] = (),
    exclude: Iterable[Rule | str] = (),
    samples: Iterable[str | Path] = (),
    schema: str | Path | None = None,
    schema_name: str | None = None,
    crosshair: bool = True,
    first: bool = False,
) -> FuzzReport:
    """Search for an object for which an index function breaks its contract; return only if there is none.

    If a child process can import the function, it runs there. Any other function (a lambda, a local function) runs in a
    thread of this process, without CrossHair and other processes. So does a function if ``objects`` is no text.

    Args:
        function: ``"package.module:function"``, ``"path/to/file.py:function"``, or the function itself.
        objects: the type of its argument: a dataclass, a TypedDict, a model class of the official client, or a
            Hypothesis strategy; or ``"module:name"`` of a class. By default the annotation of its parameter, or
            Kubernetes objects in the style in which the function reads them.
        seconds: time limit for all engines together.
        seed: seed of everything random.
        strict: warnings fail, too: for objects that no API server sends, and for rules that only warn.
        most_values: the maximum number of values of an object; by default in proportion to its size.
        patience_seconds: time limit of one call.
        only: the rules to check; all by default.
        exclude: rules not to check.
        samples: files or folders with manifests, as samples of the objects.
        schema: a file with a JSON Schema, an OpenAPI document or a CustomResourceDefinition of the objects.
        schema_name: the name of the schema in that document.
        crosshair: use CrossHair if it is installed.
        first: stop at the first violation.

    Raises:
        FuzzError: a rule is broken; the message shows the smallest object.
        InconclusiveError: too little could be tried for a verdict.
        TargetError: the function cannot be used, or no objects can be created; the message says what to do.
        HarnessError: kcache itself failed.
    """
    __tracebackhide__ = True
    options = _fuzz_options(locals())
    return _fuzz(function, Kind.INDEX, options)


def fuzz_key_func(
    function: str | Callable[[Any], Any],
    objects: Any = None,
    *,
    seconds: float = DEFAULT_SECONDS,
    seed: int = 0,
    strict: bool = False,
    patience_seconds: float = 3.0,
    only: Iterable[Rule | str] = (),
    exclude: Iterable[Rule | str] = (),
    samples: Iterable[str | Path] = (),
    schema: str | Path | None = None,
    schema_name: str | None = None,
    crosshair: bool = True,
    first: bool = False,
) -> FuzzReport:
    """Fuzz a key function, which returns one ``str``; arguments and errors as in :func:`fuzz_index_func`."""
    __tracebackhide__ = True
    options = _fuzz_options(locals())
    return _fuzz(function, Kind.KEY, options)


def fuzzed(
    function: str | Callable[[Any], Any], objects: Any = None, *, kind: str = "index", **options: Any
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Decorate a test whose first parameter is the :class:`FuzzReport`; the test fails if a rule is broken.

    Args:
        function: the function to fuzz.
        objects: the type of its argument, as in :func:`fuzz_index_func`.
        kind: ``"index"`` or ``"key"``.
        options: other arguments of :func:`fuzz_index_func`.
    """
    run = by_kind(kind)

    def decorate(test: Callable[..., T]) -> Callable[..., T]:
        signature = inspect.signature(test)
        parameters = list(signature.parameters.values())
        place = 1 if parameters and parameters[0].name == "self" else 0
        if len(parameters) <= place:
            raise TypeError(f"{test.__qualname__} must have a parameter for the report")
        rest = parameters[:place] + parameters[place + 1 :]

        def with_report(*arguments: Any, **fixtures: Any) -> T:
            __tracebackhide__ = True
            return test(*arguments, run(function, objects, **options), **fixtures)

        functools.update_wrapper(with_report, test)
        del with_report.__wrapped__  # type: ignore[attr-defined]  # pytest would look for its fixtures there
        with_report.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return with_report

    return decorate


def by_kind(kind: str) -> Callable[..., FuzzReport]:
    """Return :func:`fuzz_index_func` or :func:`fuzz_key_func`.

    Raises:
        ValueError: the kind does not exist.
    """
    return {Kind.INDEX: fuzz_index_func, Kind.KEY: fuzz_key_func}[Kind(kind)]


def _fuzz_options(arguments: dict[str, Any]) -> FuzzOptions:
    objects, schema = arguments["objects"], arguments["schema"]
    spec = objects if isinstance(objects, str) else importable_spec(objects) if isinstance(objects, type) else None
    sources = Sources(
        object_type=spec,
        type_or_strategy=objects if spec is None else None,
        samples=tuple(map(str, arguments["samples"])),
        json_schema=None if schema is None else str(schema),
        json_schema_name=arguments["schema_name"],
    )
    return FuzzOptions(
        sources=sources,
        budget_seconds=arguments["seconds"],
        seed=arguments["seed"],
        contract=Contract.STRICT if arguments["strict"] else Contract.CLIENT_GO,
        most_values=arguments.get("most_values"),
        patience_seconds=arguments["patience_seconds"],
        only=tuple(map(Rule, arguments["only"])),
        exclude=tuple(map(Rule, arguments["exclude"])),
        is_symbolic=arguments["crosshair"],
        is_first_enough=arguments["first"],
    )


def _fuzz(function: str | Callable[[Any], Any], kind: Kind, options: FuzzOptions) -> FuzzReport:
    __tracebackhide__ = True
    spec = function if isinstance(function, str) else importable_spec(function)
    if spec is not None and options.sources.type_or_strategy is None:
        report = fuzz(spec, kind, options)
    else:
        report = fuzz(load_subject(spec, kind) if spec else make_subject(function, kind), kind, options)
    if report.status is Status.VIOLATION:
        raise FuzzError(captured(lambda console: print_report(console, report)), report)
    if report.status is Status.UNKNOWN:
        raise InconclusiveError("\n".join(report.reasons))
    return report
