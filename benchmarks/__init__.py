"""Benchmarks of the reference store against a naive port and against packages that do similar things."""
