"""Preemption noise: threads that give way in the middle of the implementation's code."""

from .naps import Level, Noise

__all__ = ["Level", "Noise"]
