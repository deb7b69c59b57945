"""Explanation why no order explains a history: an argument that a reader can follow, and the class of the anomaly.

A read with stamps says which writes took effect before it and which did not (``facts``). Together with real time that
is a set of constraints on the order of the calls (``clauses``), exact for the fragment that the just-in-time checker
judges; what has no solution is refuted (``refutation``), from as few facts as possible (``fewest_facts``), and the
refutation is told (``argument``) and classified (``classification``).
"""

from .explain import Explainer, Explanation

__all__ = ["Explainer", "Explanation"]
