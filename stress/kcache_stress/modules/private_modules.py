"""Private copies of modules, which temporarily replace the real modules in ``sys.modules``."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any

from kcache_model.foreign import own_attributes

from ..runtime.threads.standstill import not_watched


class PrivateModules:
    """The modules of one sandbox.

    ``sys.modules`` has three states. Outside: it contains the real modules. During an execution (:meth:`show`): lookups
    and imports find copies. While modules are loaded (:meth:`active`): it contains only copies of private modules,
    missing copies are created, and modules that code stores there are kept as copies.

    Args:
        is_private: whether a module of that name must be a copy.
        finder: creates the copies that do not exist yet.
        units: the packages that are copied, each with all modules below it.
        is_copy: whether a module was created in the sandbox. Code may store one under any name, ``sys.modules["yaml"] =
            vendored_yaml``: then that name is private, too.

    Attributes:
        private: name -> copy, as of the last import.
        real: the content of ``sys.modules`` when the last import began.
    """

    def __init__(
        self,
        is_private: Callable[[str], bool],
        finder: MetaPathFinder,
        units: Callable[[], Iterable[str]],
        is_copy: Callable[[object], bool],
    ) -> None:
        self.private: dict[str, ModuleType] = {}
        self.real: dict[str, ModuleType] = {}
        self._is_private = is_private
        self._finder = finder
        self._units = units
        self._is_copy = is_copy
        self._stored: set[str] = set()
        self._is_active = self._is_present = False
        self._execution: object = None
        self._judged: dict[str, bool] = {}
        self._privates: dict[str, None] = {}
        self._hidden: dict[str, ModuleType | None] = {}
        self._uncopied: list[str] = []
        self._looked_at = -1
        self._covered: list[tuple[dict[str, Any], str, dict[str, Any]]] = []
        self._shared: dict[str, ModuleType] = {}
        self._finders: list[Any] | None = None
        self._real_finders: list[Any] | None = None
        self._before: tuple[list[Any] | None, list[str]] = None, []

    def judge_again(self, unit: str) -> None:
        """Forget whether the modules of a package are private, because this has changed."""
        below = f"{unit}."
        self._judged = {
            name: is_so for name, is_so in self._judged.items() if name != unit and not name.startswith(below)
        }
        self._privates = {name: None for name, is_so in self._judged.items() if is_so}
        self._looked_at = -1

    @property
    def is_active(self) -> bool:
        """Whether modules are being loaded."""
        return self._is_active

    @property
    def has_own_finders(self) -> bool:
        """Whether code has added a finder before the sandbox's own: it runs within each import."""
        return self._finder in sys.meta_path[1:]

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Context in which imports find the copies."""
        if self._is_active:
            yield
            return
        with not_watched():
            self._swap_in()
        try:
            yield
        finally:
            with not_watched():
                self._swap_out()

    def holds(self, name: str, children: Iterable[str]) -> bool:
        """Whether an import in an execution only looks a copy up: its code has run, and it has these attributes.

        Then ``sys.modules`` need not be replaced for the import, which takes longer than the calls of a small test.
        """
        module = self.private.get(name)
        if module is None or self._is_active or not self._is_present or sys.modules.get(name) is not module:
            return False
        if getattr(getattr(module, "__spec__", None), "_initializing", False):
            return False
        own = own_attributes(module)
        if not children:
            return name.partition(".")[0] in self.private
        return all(child in own or ("__getattr__" in own and hasattr(module, child)) for child in children)

    def show(self) -> None:
        """Let lookups in ``sys.modules`` find the copies from now on; imports create missing copies."""
        if not self._is_active:
            self._is_present, self._execution = True, object()
            self._before = self._finders, sys.path[:]
            self._show()

    def hide(self) -> None:
        """Undo :meth:`show`."""
        if self._execution is not None:
            self._swap_out()  # a thread may be paused in the middle of an import
            self._is_present, self._execution = False, None
            self._hide()
            self._finders, sys.path[:] = self._before  # the next execution does not find finders of this one

    @contextlib.contextmanager
    def outside(self) -> Iterator[None]:
        """Context in which imports find the real modules again."""
        before = self._is_active, self._is_present, self._execution
        with not_watched():
            self._is_present = False
            self._swap_out()
            self._hide()
        try:
            yield
        finally:
            with not_watched():
                self._come_back(*before)

    def _come_back(self, was_active: bool, was_present: bool, execution: object) -> None:
        """Restore the state before :meth:`outside`, unless its execution is over: a thread was then unwound in it."""
        if self._execution is not execution:
            return
        self._is_present = was_present
        if was_active:
            self._swap_in()
        elif was_present:
            self._show()

    def _show(self) -> None:
        modules = sys.modules
        if len(modules) != self._looked_at:  # this runs in each execution, and few executions import anything
            self._uncopied = [name for name in self._among(modules) if name not in self.private]
            self._looked_at = len(modules)
        self._hidden = {name: modules.get(name) for name in self.private}
        for name in self._uncopied:
            self._hidden[name] = modules.pop(name, None)
        modules.update(self.private)
        self._put_finders()

    def _hide(self) -> None:
        modules = sys.modules
        self._take_finders()
        for name, module in self._hidden.items():
            if module is None:
                modules.pop(name, None)
            else:
                modules[name] = module
        self._hidden = {}

    def _among(self, modules: Mapping[str, ModuleType]) -> list[str]:
        """Return the names of private modules. Decisions are cached: there may be thousands of modules."""
        new = modules.keys() - self._judged.keys()
        for name in [name for name in modules if name in new] if new else ():
            self._judge(name, is_private=name in self._stored or self._is_private(name))
        return [name for name in self._privates if name in modules]

    def _judge(self, name: str, *, is_private: bool) -> None:
        self._judged[name] = is_private
        if is_private:
            self._privates[name] = None

    def _swap_in(self) -> None:
        self._hide()
        self._is_active = True
        self.real = dict(sys.modules)
        if not self._shared:  # no module has been loaded yet, so none of these is a copy
            self._shared = {name: module for name, module in self.real.items() if type(module) is ModuleType}
        for name in self._among(self.real):
            del sys.modules[name]
        self._covered = list(self._cover())
        sys.modules.update(self.private)
        self._put_finders()

    def _put_finders(self) -> None:
        """Let imports find copies from now on, also by finders that the code under test has added earlier."""
        if self._real_finders is None:
            self._real_finders = sys.meta_path[:]
        sys.meta_path[:] = self._finders or [self._finder, *sys.meta_path]

    def _take_finders(self) -> None:
        """Undo :meth:`_put_finders`, and remember the finders that the code under test has added."""
        if self._real_finders is not None:
            self._finders, sys.meta_path[:] = sys.meta_path[:], self._real_finders
            self._real_finders = None

    def _cover(self) -> Iterator[tuple[dict[str, Any], str, dict[str, Any]]]:
        """Set the copies of private modules as attributes of their shared packages.

        Yield for each the dict of the package, the name, and the real attribute to restore (empty if there is none).
        """
        for unit in self._units():
            parent, _, child = unit.rpartition(".")
            if parent in sys.modules:
                holder: Any = own_attributes(sys.modules[parent])
                yield holder, child, {child: holder.pop(child)} if child in holder else {}
                holder.update({child: self.private[unit]} if unit in self.private else {})

    def _stored_copies(self) -> list[str]:
        """Return the names in ``sys.modules`` that refer to copies, but are not private by their name.

        This runs in each execution, and a process has thousands of modules: each is inspected until its code has run.
        """
        new = [(name, module) for name, module in sys.modules.items() if self._shared.get(name) is not module]
        names = [name for name, module in new if not self._judged[name] and self._is_copy(module)]
        self._shared.update((name, module) for name, module in new if "__builtins__" in own_attributes(module))
        for name in names:
            del self._shared[name]
        return names

    def _swap_out(self) -> None:
        if not self._is_active:
            return
        self._is_active = False
        self._looked_at = -1
        self._take_finders()
        self._among(sys.modules)
        names = self._stored_copies()
        self._stored.update(names)
        for name in names:
            self._judge(name, is_private=True)
        loaded = [name for name in sys.modules if name in self._privates]  # in the order of their imports
        self.private = {name: sys.modules.pop(name) for name in loaded}
        # More modules may have become private meanwhile.
        sys.modules.update({name: self.real[name] for name in self._among(self.real)})
        for holder, child, real in self._covered:
            holder.pop(child, None)
            holder.update(real)
        if self._is_present:
            self._show()
