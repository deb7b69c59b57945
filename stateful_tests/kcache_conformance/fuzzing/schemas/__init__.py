"""Schemas of objects, from types, JSON schemas, samples, or the function itself."""
