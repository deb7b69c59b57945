"""Indexers as a target type: their phases, and the run of one program in a child process."""
