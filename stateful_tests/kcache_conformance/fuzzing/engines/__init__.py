"""Engines that find objects which break a rule: each in a module of its own."""
