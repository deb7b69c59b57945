"""State reset: each execution must find the modules under test in the state in which the first one found them.

A search compares executions of the same program. If an execution starts from the state that another has left, a
schedule does not always lead to the same events, and nothing is proved. There are three remedies, from cheap to
expensive: undo known changes (weak containers, caches of library modules), restore the names and containers of the
modules, and load the modules again.
"""

from __future__ import annotations

from collections.abc import Callable

from .copies import Copies
from .leftovers import Leftovers, instrumented_modules


class StateReset:
    """Reset of a target that is loaded once and keeps its state for all programs: it does nothing."""

    @property
    def leftover(self) -> str:
        """A sentence about state that executions leave in the modules for later executions; empty if there is none."""
        return ""

    @property
    def inherits(self) -> bool:
        """Whether executions of other programs may have left state in the modules."""
        return False

    @property
    def needs_reload(self) -> bool:
        """Whether the modules must be loaded again: they did something that was not known when they were loaded."""
        return False

    def reload(self) -> None:
        """Copy the modules again, so that they contain no state of executions."""

    def reset_each_time(self) -> bool:
        """Let each execution find the modules as they were loaded from now on; return whether this is possible.

        If an execution leaves state nevertheless, call this again: it switches to the next remedy.
        """
        return False


NO_RESET = StateReset()


class ModulesReset(StateReset):
    """Reset of modules that programs share.

    Args:
        copies: the modules.
        rehearse: loads the modules by setting the program up.
        is_only: whether no other program runs on the modules. Only then :meth:`reset_each_time` is possible.
    """

    def __init__(self, copies: Copies, rehearse: Callable[[], None], *, is_only: bool) -> None:
        self._copies, self._rehearse, self._is_only = copies, rehearse, is_only
        self._inherits, copies.is_used = copies.is_used or copies.restores_each_time, True
        self._leftovers, self._looks = Leftovers(()), False

    def begin(self) -> None:
        """Begin to search for leftovers of executions, in copies that a rehearsal has loaded."""
        self._looks = (self._copies.serve() or self._is_only) and not self._copies.reloads_each_time
        self._look_anew()

    def look(self) -> None:
        """Compare the modules before an execution; see :meth:`~.leftovers.Leftovers.look`."""
        self._leftovers.look()

    @property
    def leftover(self) -> str:
        """See the base class."""
        return self._leftovers.note

    @property
    def inherits(self) -> bool:
        """See the base class."""
        return self._inherits

    @property
    def needs_reload(self) -> bool:
        """See the base class."""
        sandbox = self._copies.sandbox
        return sandbox.needs_reload and not (sandbox.is_strict or sandbox.granularity.is_of_opcodes)

    def reload(self) -> None:
        """See the base class."""
        self._reload(is_strict=self._copies.sandbox.is_strict)

    def reload_if_needed(self, *, is_strict: bool) -> None:
        """Copy the modules again if :attr:`needs_reload`, or if ``is_strict`` and the sandbox is not strict yet."""
        if self.needs_reload or (is_strict and not self._copies.sandbox.is_strict):
            self._reload(is_strict=is_strict)
            self._look_anew()

    def before_execution(self) -> None:
        """Copy the modules again if they are reloaded before each execution."""
        if self._copies.reloads_each_time:
            self.reload()

    def reset_each_time(self) -> bool:
        """See the base class. After the first call, state is restored; after the second, modules are reloaded."""
        if not self._is_only:
            return False
        self._copies.reloads_each_time = self._copies.restores_each_time
        self._copies.restores_each_time = True
        self.reload()
        self._looks = not self._copies.reloads_each_time
        self._look_anew()
        return True

    def _reload(self, *, is_strict: bool) -> None:
        self._copies.sandbox.start_again(is_strict=is_strict)
        self._copies.modules.clear()
        self._copies.rehearsed.clear()
        self._inherits = False
        self._rehearse()

    def _look_anew(self) -> None:
        self._leftovers = Leftovers(instrumented_modules(self._copies.sandbox) if self._looks else ())
