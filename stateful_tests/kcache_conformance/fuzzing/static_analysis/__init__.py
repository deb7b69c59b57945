"""Static analysis of a function's code: the fields that it reads, and the constants that it compares them with."""

from .read import Reading, read

__all__ = ["Reading", "read"]
