"""Test bed of informers: an API server in memory that goes wrong, on demand, in all the ways of a real one."""
