"""How long it takes to judge long histories, beside the generic search."""
