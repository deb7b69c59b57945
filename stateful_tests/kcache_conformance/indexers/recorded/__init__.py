"""The recorded behaviour of the real client-go, as scenarios that any implementation can be compared with.

``data/`` contains the recordings; ``data/FORMAT.md`` describes them; ``data/deviations.json`` lists the deliberate
deviations of kcache.
"""
