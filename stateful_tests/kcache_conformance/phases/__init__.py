"""Phases of a run: what a phase is, its share of the budget, and the symptoms by which findings are told apart."""
