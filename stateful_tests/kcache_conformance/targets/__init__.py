"""Targets: target types by name, the configuration of a project, examples, and trust in the names of tokens."""
