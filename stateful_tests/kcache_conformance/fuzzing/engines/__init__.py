"""Engines that search for objects that break a rule, each in its own module."""
