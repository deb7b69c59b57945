"""What the code of a function says: which fields it reads, and which constants it compares them with."""

from .read import Reading, read

__all__ = ["Reading", "read"]
