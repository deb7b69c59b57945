"""Judgement of executions: detects violations."""
