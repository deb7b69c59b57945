"""Modules under test: their private copies in a sandbox, the loaders, and the reset between executions."""
