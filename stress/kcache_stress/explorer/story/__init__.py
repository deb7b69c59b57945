"""An interleaving told to people: what each step was, on which object, at which line."""
