"""A foreign-code monitor for code that a test rewrites and runs by itself."""

from types import CodeType

from kcache_stress.modules.foreign_code import ForeignCodeMonitor, codes_within
from kcache_stress.runtime.threads.scheduler import Scheduler


def gate_of(code: CodeType) -> ForeignCodeMonitor:
    """One that takes this code, and all that is defined in it, for instrumented."""
    return ForeignCodeMonitor(Scheduler(), {id(part): part for part in codes_within(code)})
