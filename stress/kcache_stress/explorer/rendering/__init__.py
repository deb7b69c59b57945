"""An interleaving rendered for people: what each step was, on which object, at which line."""
