"""Test bed of informers: an API server in memory that can reproduce the failures of a real server."""
