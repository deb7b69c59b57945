"""The targets of object types: by name, and where their code is."""

from __future__ import annotations

import functools
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from kcache_model.errors import TargetError
from kcache_model.object_types.object_type import Driver, ObjectTarget, ObjectType
from kcache_model.outcomes import error_text
from kcache_model.target_name import TargetName, target_name

from ..loading import load_object, named_packages


def load_object_target(object_type: ObjectType, target: Any) -> Any:
    """The target called ``package.module:factory`` or ``path/to/file.py:factory``, or that of a factory.

    Raises:
        TargetError: there is no such thing, or it is no factory of such objects.
    """
    if isinstance(target, str):
        from ..modules.first_load import FIRST_LOAD  # of the explorer, which is not always needed

        with FIRST_LOAD.begun():
            found = load_object(target)
        return object_type.make_target(found, target)
    return object_type.make_target(target, str(getattr(target, "__qualname__", repr(target))))


def new_object(object_type: ObjectType, target: ObjectTarget, program: Any) -> Driver:
    """The new object of a program.

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
    """Where the code of a target is.

    Attributes:
        module: its module, by name or file.
        name: of the factory.
        instrument: the packages to instrument: its own, and what may be built on.
        folder: where further modules of it lie; ``None`` if it is in a package.
    """

    module: str | Path
    name: TargetName
    instrument: tuple[str, ...]
    folder: Path | None

    def factory(self, module: ModuleType) -> Any:
        """The factory as its module, or a private copy of that, has it."""
        return self.name.applied(functools.reduce(getattr, self.name.attribute.split("."), module))


def place_of(object_type: ObjectType, target: ObjectTarget) -> Place:
    """Where the code of a target is that was loaded by name."""
    return place_named(target.name, {*object_type.instrument, *named_packages(target.factory, target.name)})


def place_named(name: str, packages: Set[str]) -> Place:
    """Where the code is of what has been loaded by its name.

    Args:
        name: as the command line takes it.
        packages: to instrument, beside its own.
    """
    named = target_name(name)
    location = named.location
    from ..modules.private_packages import folder_of  # of the explorer, which is not always needed

    folder = folder_of(location)
    if location.endswith(".py"):
        return Place(Path(location).resolve(), named, tuple(sorted(packages)), folder)
    own = location if location.partition(".")[0] == "kcache" else location.partition(".")[0]
    return Place(location, named, tuple(sorted({*packages, own})), folder)
