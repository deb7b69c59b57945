"""Linearizability: could the calls have happened one after another, each at a moment while it was open?

M. Herlihy, J. Wing: Linearizability, a correctness condition for concurrent objects (1990).
"""

from .budget import SearchBudget

__all__ = ["SearchBudget"]
