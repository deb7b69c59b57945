"""Object types: target types whose targets create objects; the calls are judged by a sequential specification."""
