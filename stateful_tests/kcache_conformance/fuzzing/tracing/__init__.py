"""Runs of the function on objects that note what it does with them."""
