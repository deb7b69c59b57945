"""Interleaved tests as a target type: the explorer runs any test body."""
