"""Runs of the suite: the jobs of its phases, replays, saved failures, and runs that were written before."""
