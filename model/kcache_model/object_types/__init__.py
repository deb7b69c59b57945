"""Object types: target types whose targets make objects, with calls that a sequential specification explains."""
