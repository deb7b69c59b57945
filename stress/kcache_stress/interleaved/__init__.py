"""Interleaved tests: any test body whose threads run under the explorer."""
