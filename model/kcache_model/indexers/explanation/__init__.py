"""Explanation why no order explains a history: an argument that a reader can follow, and the class of the anomaly.

A read with stamps shows which writes took effect before it and which did not (``facts``). Together with real time,
these facts are constraints on the order of the calls (``clauses``); they are exact for the histories that are judged
just in time. If the constraints have no solution, they are refuted from as few facts as possible (``refutation``). The
refutation is written as sentences (``argument``) and classified (``classification``).
"""

from .explain import Explainer, Explanation

__all__ = ["Explainer", "Explanation"]
