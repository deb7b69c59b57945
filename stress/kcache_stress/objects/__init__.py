"""Targets of object types: loading, exploration, stress with real threads, and findings."""
