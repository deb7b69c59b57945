"""Laws of the pure code of kcache, which CrossHair checks for symbolic arguments; see ``docs/contracts.md``."""
