"""Explanation why no order explains a history: an argument that a reader can follow, and the class of the anomaly.

A read with stamps says which writes took effect before it and which did not (``facts``). Together with real time that
is a set of constraints on the order of the calls (``clauses``), exact for the fragment that is judged just in time;
what has no solution is refuted, from as few facts as possible (``refutation``), and the refutation is told
(``argument``) and classified (``classification``).
"""

from .explain import Explainer, Explanation

__all__ = ["Explainer", "Explanation"]
