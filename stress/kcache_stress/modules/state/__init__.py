"""State as a value: what an execution leaves in the modules under test."""
