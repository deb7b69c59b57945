"""Faults that others shipped, found by the explorer."""
