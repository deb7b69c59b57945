"""Duties of an informer to its users: the rules, and the data on which they are judged."""
