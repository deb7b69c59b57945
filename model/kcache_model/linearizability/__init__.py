"""Linearizability: each call takes effect at one moment between its invocation and its response.

M. Herlihy, J. Wing: Linearizability, a correctness condition for concurrent objects (1990).
"""

from .budget import SearchBudget

__all__ = ["SearchBudget"]
