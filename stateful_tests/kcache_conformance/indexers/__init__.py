"""Indexers as a target type: their phases, and how one program runs in a child process."""
