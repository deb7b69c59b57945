"""Indexers: operations, programs, the sequential model, and the driver that asks an implementation."""
