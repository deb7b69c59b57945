"""Isolation: runs work that may hang or crash in a child process that can be killed."""

from .supervisor import STARTUP_SECONDS, HarnessError, JobEnd, raise_if_failed, run_job

__all__ = ["STARTUP_SECONDS", "HarnessError", "JobEnd", "raise_if_failed", "run_job"]
