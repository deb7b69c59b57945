"""Targets of object types: loaded, explored, run by real threads; and what a reader is told of what goes wrong."""
