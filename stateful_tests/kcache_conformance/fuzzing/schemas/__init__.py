"""Schemas of objects, wherever they are known from."""
