"""An interleaving as people read it: what each step was, on which object, at which line."""
