"""Testers for asyncio on the same programs."""
