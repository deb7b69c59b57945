"""Judgement of one call of the function: the rules that it breaks."""
