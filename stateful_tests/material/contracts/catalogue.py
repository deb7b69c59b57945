"""All laws: whoever imports this module has them in ``LAWS``."""

from . import laws_of_indexing, laws_of_keys, laws_of_resource_versions, laws_of_selectors, laws_of_the_model
from .law import LAWS

__all__ = [
    "LAWS",
    "laws_of_indexing",
    "laws_of_keys",
    "laws_of_resource_versions",
    "laws_of_selectors",
    "laws_of_the_model",
]
