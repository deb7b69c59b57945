"""Readable interleavings: for each step the access, the object and the source line."""
