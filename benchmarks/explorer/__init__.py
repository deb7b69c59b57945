"""How fast the explorer is and what it finds, beside other tools for threads."""
