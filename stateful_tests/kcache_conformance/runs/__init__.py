"""Runs of many programs: batches in child processes, spread over executors; small-scope verification."""
