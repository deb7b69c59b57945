"""Indexers under the explorer: programs, runner, judge, findings, and the subject that brings them together."""
