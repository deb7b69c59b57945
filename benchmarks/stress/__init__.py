"""Measures stress with real threads."""
