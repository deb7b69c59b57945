"""State as a value: the comparison and the restoration of state in the modules under test."""
