"""Informers as targets: the methods that an informer needs in order to be tested."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from kcache.informers.list_watch import ListerWatcher
from kcache_model.errors import TargetError
from kcache_model.outcomes import error_text
from kcache_stress.loading import load_object, named_packages

FEATURES: Final = frozenset(
    {
        "old_objects",  # on_update receives the old object
        "tombstones",  # for a missed deletion, on_delete receives a tombstone, not the last known object
        "is_in_initial_list",  # on_add receives whether the object belongs to the initial list
        "store_first",  # its store shows a change before handlers are called
        "reordered_events",  # it does not need the events of a watch in the order of their resource versions
        "slow_handlers",  # a slow handler does not delay the others
        "resync",
        # Optional methods; they are not called if they are declared as unsupported.
        "late_handlers",
        "remove_event_handler",
        "registration.has_synced",
        "add_indexers",
        "set_transform",
    }
)
"""The features that an informer may declare as unsupported in ``kcache_unsupported``."""

_NEEDED: Final = ("add_event_handler", "start", "stop", "has_synced", "get_store")


class Informer(Protocol):
    """An informer under test."""

    def add_event_handler(self, handler: Any) -> Any:
        """Add a handler, with ``on_add(obj, is_in_initial_list)``, ``on_update(old, new)`` and ``on_delete(obj)``."""

    def start(self) -> object:
        """Start the informer in its own threads."""

    def stop(self) -> object:
        """Stop the informer; its threads have ended when the call returns, or end shortly after."""

    def has_synced(self) -> bool:
        """Whether the store shows the initial list."""
        ...

    def get_store(self) -> Any:
        """Return the store, with ``list()`` and ``get_by_key(key)``."""


@dataclass(frozen=True)
class InformerTarget:
    """A factory of informers.

    Attributes:
        name: its name in reports.
        factory: ``factory(lister_watcher) -> Informer``. If it takes ``clock``, tests are faster; if it takes
            ``resync_seconds``, the option is passed when a resync is tested.
        unsupported: the :data:`FEATURES` that it does not support; they are not tested.
        instrument: further packages that it uses, whose threads and locks the explorer controls, too.
    """

    name: str
    factory: Callable[..., Informer]
    unsupported: frozenset[str] = field(default_factory=frozenset)
    instrument: tuple[str, ...] = ()

    def takes(self, option: str) -> bool:
        """Whether the factory takes an option of that name."""
        return bool(_taken(self.factory, {option: True}))

    def create(self, lister_watcher: ListerWatcher, **options: Any) -> Informer:
        """Create an informer; options that the factory does not take, and options that are false, are left out.

        Raises:
            TargetError: the factory raised, or the informer lacks a method.
        """
        try:
            informer = self.factory(lister_watcher, **_taken(self.factory, options))
        except (Exception, SystemExit) as error:
            raise TargetError(
                f"{self.name}(lister_watcher) raised {error_text(error)}; it must return a new informer"
            ) from error
        missing = [name for name in _NEEDED if not callable(getattr(informer, name, None))]
        if missing:
            raise TargetError(
                f"{self.name}(lister_watcher) returned a {type(informer).__name__} without {', '.join(missing)}; "
                f"an informer must have {', '.join(_NEEDED)}"
            )
        return informer


def make_informer_target(
    factory: Callable[..., Informer], name: str, unsupported: Iterable[str] | None = None
) -> InformerTarget:
    """Create a target; its declarations are ``unsupported`` or, by default, the factory's ``kcache_unsupported``.

    The attribute ``kcache_instrument`` of the factory or of its module names further packages that it is built on, in
    addition to its own package and kcache.

    Raises:
        TargetError: the factory cannot be called, a declaration is unknown, or a package does not exist.
    """
    if not callable(factory):
        raise TargetError(f"{name} is a {type(factory).__name__}; it must be a function lister_watcher -> informer")
    declared = getattr(factory, "kcache_unsupported", ()) if unsupported is None else unsupported
    names = frozenset([declared] if isinstance(declared, str) else declared)
    if names - FEATURES:
        raise TargetError(
            f"kcache_unsupported names {', '.join(sorted(names - FEATURES))}; known are: {', '.join(sorted(FEATURES))}"
        )
    packages = named_packages(factory, name)
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise TargetError(f"kcache_instrument names {package}, but there is no such package")
    return InformerTarget(name, factory, names, packages)


def load_informer_target(target: Any) -> InformerTarget:
    """Load the target ``package.module:factory`` or ``path/to/file.py:factory``, or create the target of a factory.

    Raises:
        TargetError: the factory does not exist, or it is no factory of informers.
    """
    if isinstance(target, str):
        return make_informer_target(load_object(target), target)  # type: ignore[arg-type]
    return make_informer_target(target, getattr(target, "__qualname__", repr(target)))


def _taken(factory: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return {}
    names = {parameter.name for parameter in parameters}
    takes_all = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
    return {name: value for name, value in options.items() if value and (takes_all or name in names)}
