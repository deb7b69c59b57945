"""Implementations that others wrote, made to look like a ``kcache.Store`` so that the suite can check them."""
