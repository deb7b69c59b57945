"""Exploration of one target: the search of its programs, and the confirmation and replay of findings."""
