"""Private copies of modules, which take the place of the real ones in ``sys.modules`` for a while."""

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

    Three states: the real modules are there; an execution is under way, and whoever looks or imports finds copies;
    something is loaded, which finds copies alone, makes those that are missing, and takes over what it puts there.

    Args:
        is_private: whether a module of that name is to be a copy.
        finder: finds the copies that are not made yet.
        units: packages of which there are copies, each with all that is below.
        is_copy: whether a module was made in the sandbox. Code may put one under any name, ``sys.modules["yaml"] =
            vendored_yaml``: then that name is private, too.

    Attributes:
        private: the copies, as of the last import.
        real: what was there when the last import began.
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
        self._put: set[str] = set()
        self._is_active = self._is_present = False
        self._execution: object = None
        self._judged: dict[str, bool] = {}
        self._hidden: dict[str, ModuleType | None] = {}
        self._uncopied: list[str] = []
        self._looked_at = -1
        self._covered: list[tuple[dict[str, Any], str, dict[str, Any]]] = []
        self._shared: dict[str, ModuleType] = {}
        self._finders: list[Any] | None = None
        self._real_finders: list[Any] | None = None
        self._before: tuple[list[Any] | None, list[str]] = None, []

    def judge_again(self, unit: str) -> None:
        """A package has become private, or is no longer."""
        below = f"{unit}."
        self._judged = {
            name: is_so for name, is_so in self._judged.items() if name != unit and not name.startswith(below)
        }
        self._looked_at = -1

    @property
    def is_active(self) -> bool:
        """Whether something is loaded."""
        return self._is_active

    @property
    def has_own_finders(self) -> bool:
        """Whether code has put a finder in front, which runs in the middle of each import."""
        return self._finder in sys.meta_path[1:]

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """While this is entered, imports find the copies."""
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

    def show(self) -> None:
        """From now on, whoever looks in ``sys.modules`` finds the copies, and whoever imports makes missing ones."""
        if not self._is_active:
            self._is_present, self._execution = True, object()
            self._before = self._finders, sys.path[:]
            self._show()

    def hide(self) -> None:
        """Undo :meth:`show`."""
        if self._execution is not None:
            self._swap_out()  # a thread may have been left in the middle of an import
            self._is_present, self._execution = False, None
            self._hide()
            self._finders, sys.path[:] = self._before  # an execution leaves none of its finders to the next one

    @contextlib.contextmanager
    def outside(self) -> Iterator[None]:
        """While this is entered, imports find the real modules again."""
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
        """The end of :meth:`outside`; what was given up there may be unwound when its execution is over."""
        if self._execution is not execution:
            return
        self._is_present = was_present
        if was_active:
            self._swap_in()
        elif was_present:
            self._show()

    def _show(self) -> None:
        modules = sys.modules
        if len(modules) != self._looked_at:  # this is done in each execution, and few import anything
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
        """The names of those that are private, in order; a process may have thousands, and few are new."""
        judged = self._judged
        judged.update((name, name in self._put or self._is_private(name)) for name in modules.keys() - judged.keys())
        return [name for name in modules if judged[name]]

    def _swap_in(self) -> None:
        self._hide()
        self._is_active = True
        self.real = dict(sys.modules)
        if not self._shared:  # nothing has been loaded yet, so none of these is a copy
            self._shared = {name: module for name, module in self.real.items() if type(module) is ModuleType}
        for name in self._among(self.real):
            del sys.modules[name]
        self._covered = list(self._cover())
        sys.modules.update(self.private)
        self._put_finders()

    def _put_finders(self) -> None:
        """From now on imports find copies; by finders that the code has put on ``sys.meta_path``, too."""
        if self._real_finders is None:
            self._real_finders = sys.meta_path[:]
        sys.meta_path[:] = self._finders or [self._finder, *sys.meta_path]

    def _take_finders(self) -> None:
        """Undo :meth:`_put_finders`, and keep what the code has put there."""
        if self._real_finders is not None:
            self._finders, sys.meta_path[:] = sys.meta_path[:], self._real_finders
            self._real_finders = None

    def _cover(self) -> Iterator[tuple[dict[str, Any], str, dict[str, Any]]]:
        """A shared package names the private module below it: yields its dict, the name, and what to restore there."""
        for unit in self._units():
            parent, _, child = unit.rpartition(".")
            if parent in sys.modules:
                holder: Any = own_attributes(sys.modules[parent])
                yield holder, child, {child: holder.pop(child)} if child in holder else {}
                holder.update({child: self.private[unit]} if unit in self.private else {})

    def _put_there(self) -> list[str]:
        """The names under which copies stand that are not private by their name.

        A process has thousands of modules, and this is asked in each execution: a module is looked at until it has run.
        """
        new = [(name, module) for name, module in sys.modules.items() if self._shared.get(name) is not module]
        put = [name for name, module in new if not self._judged[name] and self._is_copy(module)]
        self._shared.update((name, module) for name, module in new if "__builtins__" in own_attributes(module))
        for name in put:
            del self._shared[name]
        return put

    def _swap_out(self) -> None:
        if not self._is_active:
            return
        self._is_active = False
        self._looked_at = -1
        self._take_finders()
        self._among(sys.modules)
        put = self._put_there()
        self._put.update(put)
        self._judged.update(dict.fromkeys(put, True))
        self.private = {name: sys.modules.pop(name) for name in self._among(sys.modules)}
        # What is private may have become more meanwhile.
        sys.modules.update({name: self.real[name] for name in self._among(self.real)})
        for holder, child, real in self._covered:
            holder.pop(child, None)
            holder.update(real)
        if self._is_present:
            self._show()
