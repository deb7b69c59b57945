"""Explores the interleavings of small programs, one after the other, deterministically."""
