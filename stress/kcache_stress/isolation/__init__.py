"""Runs work that may hang or crash in a child process that can be killed."""

from .supervisor import JobEnd, run_job

__all__ = ["JobEnd", "run_job"]
