"""Stress runs of targets on real threads and in child processes, and exploration of their interleavings."""
