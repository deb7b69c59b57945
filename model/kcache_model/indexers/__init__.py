"""Indexers: operations, programs, the sequential model, and the driver that calls an implementation."""
