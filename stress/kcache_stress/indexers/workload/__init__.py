"""Workload of the threads: short programs on new Indexers, and stretches on one Indexer. A seed determines them."""

from .short_programs import Shape, random_program
from .stretches import Length, Stretch, stretches

__all__ = ["Length", "Shape", "Stretch", "random_program", "stretches"]
