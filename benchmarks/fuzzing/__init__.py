"""Measures the fuzzer of index functions."""
