"""Exploration of one target: its programs, their search, and the confirmation and replay of what is found."""
