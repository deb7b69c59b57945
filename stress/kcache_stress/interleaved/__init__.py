"""Interleaved tests: test bodies whose threads run under the explorer."""
