"""State that executions leave in the modules under test, and what is done so that each begins as the first did.

A search compares executions of the same program. If one starts from what another has left, a schedule does not do the
same each time, and nothing is proved. There are three remedies, each dearer than the one before: to undo the changes
that are known (weak containers, names of modules), to restore all names of the modules, and to load the modules again.
"""

from __future__ import annotations

from collections.abc import Callable

from .copies import Copies
from .leftovers import Leftovers, instrumented_modules


class StateReset:
    """The reset of a target that is loaded once and keeps what it keeps for all programs: there is nothing to do."""

    @property
    def leftover(self) -> str:
        """What executions leave behind in the modules, so that others start from it; empty if nothing."""
        return ""

    @property
    def inherits(self) -> bool:
        """Whether executions of other programs may have left something there before."""
        return False

    @property
    def needs_reload(self) -> bool:
        """Whether the modules did what they were not loaded for."""
        return False

    def reload(self) -> None:
        """Copy the modules again, with nothing in them that executions have left."""

    def reset_each_time(self) -> bool:
        """Let each execution find the modules as they were loaded from now on; whether that is done.

        To be called again if something is left nevertheless: then the next remedy is taken.
        """
        return False


NO_RESET = StateReset()


class ModulesReset(StateReset):
    """The reset of modules that programs share.

    Args:
        copies: the modules.
        rehearse: loads them by setting the program up.
        is_only: whether no other program runs on them. Only then, each execution may have them as they were loaded.
    """

    def __init__(self, copies: Copies, rehearse: Callable[[], None], *, is_only: bool) -> None:
        self._copies, self._rehearse, self._is_only = copies, rehearse, is_only
        self._inherits, copies.is_used = copies.is_used or copies.restores_each_time, True
        self._leftovers, self._looks = Leftovers(()), False

    def begin(self) -> None:
        """Begin to look for what executions leave, in copies that a rehearsal has loaded."""
        self._looks = (self._copies.serve() or self._is_only) and not self._copies.reloads_each_time
        self._look_anew()

    def look(self) -> None:
        """Look at the modules before an execution."""
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
        """Copy the modules again if they did what they were not loaded for, or are to be strict and are not."""
        if self.needs_reload or (is_strict and not self._copies.sandbox.is_strict):
            self._reload(is_strict=is_strict)
            self._look_anew()

    def before_execution(self) -> None:
        """Copy the modules again if that is necessary each time."""
        if self._copies.reloads_each_time:
            self.reload()

    def reset_each_time(self) -> bool:
        """See the base class. What can be restored is restored; if that is not enough, the modules are loaded anew."""
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
        self._inherits = False
        self._rehearse()

    def _look_anew(self) -> None:
        self._leftovers = Leftovers(instrumented_modules(self._copies.sandbox) if self._looks else ())
