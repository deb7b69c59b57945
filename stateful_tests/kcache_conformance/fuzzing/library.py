"""Fuzzing from one's own tests."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from kcache_conformance.report.capturing import captured
from kcache_model.verdict import Status
from kcache_stress.loading import importable_spec

from ..errors import FuzzError, InconclusiveError
from .options import DEFAULT_SECONDS, FuzzOptions
from .report import FuzzReport
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
    """Look for an object for which an index function breaks its contract; returns only if none is found.

    A function that a child process can import runs there. Any other one (a lambda, a local function) runs in a thread
    of this process, without CrossHair and without other processes; so does one whose ``objects`` are given as such.

    Args:
        function: ``"package.module:function"``, ``"path/to/file.py:function"``, or the function itself.
        objects: what it is called with: a dataclass, a TypedDict, a model class of the official client, or a
            Hypothesis strategy; ``"module:name"`` of a class. By default what its parameter is annotated with, or
            Kubernetes objects in the style in which it reads them.
        seconds: for all engines together.
        seed: of everything random.
        strict: warnings fail, too: objects that no API server gives, and the lesser rules.
        most_values: how many values an object may have; by default a number in proportion to its size.
        patience_seconds: how long one call may take.
        only: the rules to check; all by default.
        exclude: rules not to check.
        samples: files or folders with manifests that the objects are to look like.
        schema: a file with a JSON Schema, an OpenAPI document or a CustomResourceDefinition that the objects have.
        schema_name: which schema of that document.
        crosshair: use CrossHair, where it is installed.
        first: stop at the first violation.

    Raises:
        FuzzError: a rule is broken; the message shows the smallest object.
        InconclusiveError: too little could be done to say anything.
        TargetError: the function cannot be used, or no objects can be made; the message says what to do.
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
    """The same as :func:`fuzz_index_func` for a key function, which returns one ``str``."""
    __tracebackhide__ = True
    options = _fuzz_options(locals())
    return _fuzz(function, Kind.KEY, options)


def fuzzed(
    function: str | Callable[[Any], Any], objects: Any = None, *, kind: str = "index", **options: Any
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Makes a test of a function whose first parameter is the :class:`FuzzReport`; the test fails if a rule is broken.

    Args:
        function: what to fuzz.
        objects: what it is called with.
        kind: ``"index"`` or ``"key"``.
        options: as :func:`fuzz_index_func` takes them.
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
    """:func:`fuzz_index_func` or :func:`fuzz_key_func`.

    Raises:
        ValueError: there is no such kind.
    """
    return {Kind.INDEX: fuzz_index_func, Kind.KEY: fuzz_key_func}[Kind(kind)]


def _fuzz_options(given: dict[str, Any]) -> FuzzOptions:
    objects, schema = given["objects"], given["schema"]
    spec = objects if isinstance(objects, str) else importable_spec(objects) if isinstance(objects, type) else None
    sources = Sources(
        object_type=spec,
        given=objects if spec is None else None,
        samples=tuple(map(str, given["samples"])),
        json_schema=None if schema is None else str(schema),
        json_schema_name=given["schema_name"],
    )
    return FuzzOptions(
        sources=sources,
        seconds=given["seconds"],
        seed=given["seed"],
        is_strict=given["strict"],
        most_values=given.get("most_values"),
        patience_seconds=given["patience_seconds"],
        only=tuple(map(Rule, given["only"])),
        exclude=tuple(map(Rule, given["exclude"])),
        is_symbolic=given["crosshair"],
        is_first_enough=given["first"],
    )


def _fuzz(function: str | Callable[[Any], Any], kind: Kind, options: FuzzOptions) -> FuzzReport:
    __tracebackhide__ = True
    spec = function if isinstance(function, str) else importable_spec(function)
    if spec is not None and options.sources.given is None:
        report = fuzz(spec, kind, options)
    else:
        report = fuzz(load_subject(spec, kind) if spec else make_subject(function, kind), kind, options)
    if report.status is Status.VIOLATION:
        raise FuzzError(captured(lambda console: print_report(console, report)), report)
    if report.status is Status.UNKNOWN:
        raise InconclusiveError("\n".join(report.reasons))
    return report
