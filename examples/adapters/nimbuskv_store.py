"""A target: the in-memory backend of NimbusKV (PyPI ``nimbuskv``)."""

from nimbuskv import NimbusKV

from kcache.adapting import adapt

new_indexer = adapt(NimbusKV, add="set", delete="delete", get_by_key="get", list=("items", "key_value"))
