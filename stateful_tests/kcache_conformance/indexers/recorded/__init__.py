"""The recorded behaviour of the real client-go, as scenarios that any implementation can be held against.

``data/`` holds the recordings; ``data/FORMAT.md`` describes them, ``data/deviations.json`` says where kcache is better
on purpose.
"""
