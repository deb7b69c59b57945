"""Targets of object types: loading by name, creating objects, and the place of their code."""

from __future__ import annotations

import functools
from collections.abc import Set
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from kcache_model.errors import TargetError
from kcache_model.object_types.object_type import Driver, ObjectTarget, ObjectType
from kcache_model.outcomes import error_text
from kcache_model.target_name import TargetName, target_name

from ..loading import load_object, named_packages


def load_object_target(object_type: ObjectType, target: Any) -> Any:
    """Return the target named ``package.module:factory`` or ``path/to/file.py:factory``, or the target of a factory.

    Raises:
        TargetError: the name does not exist, or is no factory of objects of this type.
    """
    if isinstance(target, str):
        from ..modules.first_load import FIRST_LOAD  # imported late: the explorer is not always needed

        with FIRST_LOAD.begun():
            found = load_object(target)
        return object_type.make_target(found, target)
    return object_type.make_target(target, str(getattr(target, "__qualname__", repr(target))))


def new_object(object_type: ObjectType, target: ObjectTarget, program: Any) -> Driver:
    """Create the new object of a program; return the driver of the object.

    Raises:
        TargetError: the factory raised.
    """
    try:
        return object_type.make(target, program)
    except (Exception, SystemExit) as error:
        what = f"the factory {target.name} raised {error_text(error)}; it must return a new {object_type.called}"
        raise TargetError(what) from error


@dataclass(frozen=True)
class Place:
    """The place of the code of a target.

    Attributes:
        module: the module of the target, as a name or as a file.
        name: of the factory.
        instrument: the packages to instrument: the package of the target, and packages that the target may build on.
        folder: the folder with further modules of the target; ``None`` if the target is in a package.
    """

    module: str | Path
    name: TargetName
    instrument: tuple[str, ...]
    folder: Path | None

    def factory(self, module: ModuleType) -> Any:
        """Return the factory from its module, or from a private copy of the module."""
        return self.name.applied(functools.reduce(getattr, self.name.attribute.split("."), module))


def close_driver(driver: Driver) -> None:
    """Close a driver, if it can be closed, so that its object stops its threads."""
    close = getattr(driver, "close", None)
    if close is not None:
        close()


def place_of(object_type: ObjectType, target: ObjectTarget) -> Place:
    """Return the place of the code of a target that was loaded by name."""
    return place_named(target.name, {*object_type.instrument, *named_packages(target.factory, target.name)})


def place_named(name: str, packages: Set[str]) -> Place:
    """Return the place of the code of a named target.

    Args:
        name: the name, in the format of the command line.
        packages: packages to instrument, in addition to the package of the target.
    """
    named = target_name(name)
    location = named.location
    from ..modules.private_packages import folder_of  # imported late: the explorer is not always needed

    folder = folder_of(location)
    if location.endswith(".py"):
        return Place(Path(location).resolve(), named, tuple(sorted(packages)), folder)
    own = location if location.partition(".")[0] == "kcache" else location.partition(".")[0]
    if own == "asyncio":  # its loop runs the calls, and callbacks of a loop need not be instrumented
        return Place(location, named, tuple(sorted(packages)), folder)
    return Place(location, named, tuple(sorted({*packages, own})), folder)


def of_explorer(object_type: ObjectType) -> ObjectType:
    """Return the type with the specification of executions, if that of real threads is another one."""

    def specification(program: Any) -> Any:
        of_threads = object_type.specification(program)
        return getattr(of_threads, "of_explorer", of_threads)

    return replace(object_type, specification=specification)
