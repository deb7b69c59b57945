"""Modules under test: copies that belong to one sandbox, how they are loaded, and what executions leave in them."""
