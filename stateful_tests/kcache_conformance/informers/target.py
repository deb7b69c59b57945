"""Informers as targets: what one must offer to be held against the rules."""

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
        "old_objects",  # its updates tell the old object
        "tombstones",  # it tells of missed deletions with a tombstone, not with the last known object
        "is_in_initial_list",  # its additions tell whether they belong to the initial list
        "store_first",  # its store shows a change before handlers are told of it
        "reordered_events",  # it does not need the events of a watch in the order of their resource versions
        "slow_handlers",  # a slow handler does not hold up the others
        "resync",
        # Calls that need not be there; they are not made then.
        "late_handlers",
        "remove_event_handler",
        "registration.has_synced",
        "add_indexers",
        "set_transform",
    }
)
"""What an informer may say, in ``kcache_unsupported``, that it does not offer."""

_NEEDED: Final = ("add_event_handler", "start", "stop", "has_synced", "get_store")


class Informer(Protocol):
    """An informer under test."""

    def add_event_handler(self, handler: Any) -> Any:
        """Call ``on_add(obj, is_in_initial_list)``, ``on_update(old, new)``, ``on_delete(obj)`` of the handler."""

    def start(self) -> object:
        """Begin, in threads of its own."""

    def stop(self) -> object:
        """End, and return when all threads have ended."""

    def has_synced(self) -> bool:
        """Whether the store shows the initial list."""
        ...

    def get_store(self) -> Any:
        """What has ``list()`` and ``get_by_key(key)``."""


@dataclass(frozen=True)
class InformerTarget:
    """A factory of informers.

    Attributes:
        name: how reports call it.
        factory: ``factory(lister_watcher) -> Informer``. If it takes ``clock``, tests are quicker; ``resync_seconds``
            is given where a resync is tested.
        unsupported: what it does not offer, of :data:`FEATURES`; it is not tested.
        instrument: further packages whose code belongs to it: the explorer controls their threads and locks, too.
    """

    name: str
    factory: Callable[..., Informer]
    unsupported: frozenset[str] = field(default_factory=frozenset)
    instrument: tuple[str, ...] = ()

    def takes(self, option: str) -> bool:
        """Whether the factory takes an option of that name."""
        return bool(_taken(self.factory, {option: True}))

    def create(self, lister_watcher: ListerWatcher, **options: Any) -> Informer:
        """A new informer; options that the factory does not take are left out.

        Raises:
            TargetError: the factory raised, or the informer lacks a call.
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
    """A target; what is not supported comes from ``unsupported`` or the factory's ``kcache_unsupported``.

    Packages that it is built on, beside its own and kcache, stand in the factory's or its module's
    ``kcache_instrument``.

    Raises:
        TargetError: it cannot be called, or a declaration is unknown.
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
    """The target called ``package.module:factory`` or ``path/to/file.py:factory``, or that of a factory.

    Raises:
        TargetError: there is no such thing, or it is no factory of informers.
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
