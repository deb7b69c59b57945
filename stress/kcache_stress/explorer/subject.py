"""An implementation inside a sandbox, ready to be explored."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kcache_model.items import Semantics
from kcache_model.target import Target, TargetError, make_target

from ..loading import load_target
from ..probing import probe
from .granularity import Granularity
from .sandbox import CannotExploreError, Roots, Sandbox
from .sources import fingerprint_of


@dataclass(frozen=True)
class Subject:
    """A target and its sandbox.

    Attributes:
        target: makes Indexers from the instrumented copy of the modules.
        sandbox: where they live.
        granularity: where their threads may be switched.
        instrument: further packages that are instrumented.
    """

    target: Target
    sandbox: Sandbox
    granularity: Granularity
    instrument: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Eight characters that change when the instrumented sources do."""
        return fingerprint_of(self.sandbox.sources)


def load_subject(spec: str, *, instrument: Iterable[str] = (), granularity: Granularity = Granularity.FREE) -> Subject:
    """The target called ``pkg.mod:factory`` or ``path/to/file.py:factory``, instrumented.

    Args:
        spec: the name of the target.
        instrument: further packages to instrument beside the target's own.
        granularity: where threads may be switched.

    Raises:
        TargetError: there is no such target.
        CannotExploreError: it cannot be scheduled.
    """
    real = probe(load_target(spec), Semantics.CLASSIC)
    location, _, name = spec.rpartition(":")
    file = Path(location).resolve() if location.endswith(".py") else None
    instrument = tuple(instrument)
    packages = {*instrument} if file else {location.partition(".")[0], *instrument}
    roots = Roots(frozenset(packages), file.parent if file else _folder_of_loose_module(location))
    sandbox = Sandbox(roots, granularity)
    for package in instrument:
        if importlib.util.find_spec(package.partition(".")[0]) is None:
            raise TargetError(f"there is no package {package} to instrument; it must be importable here")
    try:
        module = sandbox.load(file or location)
    except (TargetError, CannotExploreError):
        raise
    except Exception as error:
        raise CannotExploreError(f"its modules cannot be loaded a second time: {error!r}") from error
    found: object = module
    for part in name.split("."):
        found = getattr(found, part)
    if not sandbox.sources:
        raise CannotExploreError(f"{location} has no Python source")
    target = make_target(found, spec, real.unsupported)  # type: ignore[arg-type]
    return Subject(target, sandbox, granularity, instrument)


def _folder_of_loose_module(name: str) -> Path | None:
    """The folder of a module that belongs to no package: what lies beside it is part of the same program."""
    if "." in name or name in sys.builtin_module_names:
        return None
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None or spec.submodule_search_locations is not None:
        return None
    folder = Path(spec.origin).parent
    return None if "site-packages" in folder.parts else folder
