"""What objects may look like, wherever that is known from."""
