"""Any class as a target: its specification is its own behaviour in one thread, or a model."""
