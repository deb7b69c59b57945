"""What the threads do: short programs on new Indexers, and stretches on one Indexer. All follow from a seed."""

from .programs import Shape, random_program
from .reads import final_reads, reads_of
from .stretches import Length, Stretch, stretches

__all__ = ["Length", "Shape", "Stretch", "final_reads", "random_program", "reads_of", "stretches"]
