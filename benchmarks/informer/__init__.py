"""Measures queues and informers."""
