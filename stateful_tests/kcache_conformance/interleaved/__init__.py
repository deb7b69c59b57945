"""Interleaved tests as a target type: any test body under the explorer."""
