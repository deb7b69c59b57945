"""Preemption noise: makes threads give way in the middle of the implementation's code.

Left alone, threads rarely meet: the interpreter switches after some tens of microseconds, a call takes a few. So in
noisy rounds a thread sleeps for a moment before a bytecode of the implementation, at random. Nothing of the
implementation is changed, and what it does under noise it may do without.

Edelstein et al.: Framework for testing multi-threaded Java programs (ConTest, 2003).
"""

from .injected_delays import Level, Noise

__all__ = ["Level", "Noise"]
