"""Contract of an informer with its users: the rules, and the data by which they are judged."""
