"""Calls of the function with objects that record its accesses and comparisons."""
