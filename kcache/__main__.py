"""``python -m kcache``: the command line."""

from kcache.cli import main

if __name__ == "__main__":
    main()
