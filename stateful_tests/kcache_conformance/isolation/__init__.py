"""Runs of work that may hang or crash in a child process that can be killed."""

from .failures import HarnessError, raise_if_failed
from .supervisor import STARTUP_SECONDS, JobEnd, run_job

__all__ = ["STARTUP_SECONDS", "HarnessError", "JobEnd", "raise_if_failed", "run_job"]
