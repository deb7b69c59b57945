"""kcache: thread-safe, indexed object caches, after Kubernetes client-go's ``tools/cache``.

This package is the reference implementation. It needs only the standard library. The harness that checks other
implementations against it is :mod:`kcache.testing`.
"""

from .errors import (
    FIFOClosedError,
    IndexerConflictError,
    IndexersRunningError,
    IndexFuncError,
    IndexNotFoundError,
    InvalidIndexerError,
    InvalidObjectError,
    KcacheError,
    KeyFormatError,
    KeyFuncError,
    NoMetadataError,
    ResourceVersionError,
    SelectorError,
    TransactionError,
    TransformError,
)
from .index_funcs import NAMESPACE_INDEX, label_index_func, meta_namespace_index_func
from .interfaces import (
    Indexer,
    Indexers,
    IndexFunc,
    KeyFunc,
    ResourceVersionStore,
    Semantics,
    Store,
    ThreadSafeStore,
    TransactionStore,
    Transformer,
)
from .keys import (
    DeletedFinalStateUnknown,
    ExplicitKey,
    deletion_handling_meta_namespace_key_func,
    meta_namespace_key_func,
    split_meta_namespace_key,
)
from .labels import Operator, Requirement, Selector, everything, nothing, parse_selector
from .listers import list_all, list_all_by_namespace
from .metadata import ObjectMeta, accessor
from .resource_version import compare_resource_versions
from .store import Cache, new_indexer, new_store, new_thread_safe_store
from .thread_safe_store import ThreadSafeMap
from .transaction import ThreadSafeStoreTransaction, Transaction, TransactionType

__version__ = "0.1.0"

__all__ = [
    "NAMESPACE_INDEX",
    "Cache",
    "DeletedFinalStateUnknown",
    "ExplicitKey",
    "FIFOClosedError",
    "IndexFunc",
    "IndexFuncError",
    "IndexNotFoundError",
    "Indexer",
    "IndexerConflictError",
    "Indexers",
    "IndexersRunningError",
    "InvalidIndexerError",
    "InvalidObjectError",
    "KcacheError",
    "KeyFormatError",
    "KeyFunc",
    "KeyFuncError",
    "NoMetadataError",
    "ObjectMeta",
    "Operator",
    "Requirement",
    "ResourceVersionError",
    "ResourceVersionStore",
    "Selector",
    "SelectorError",
    "Semantics",
    "Store",
    "ThreadSafeMap",
    "ThreadSafeStore",
    "ThreadSafeStoreTransaction",
    "Transaction",
    "TransactionError",
    "TransactionStore",
    "TransactionType",
    "TransformError",
    "Transformer",
    "accessor",
    "compare_resource_versions",
    "deletion_handling_meta_namespace_key_func",
    "everything",
    "label_index_func",
    "list_all",
    "list_all_by_namespace",
    "meta_namespace_index_func",
    "meta_namespace_key_func",
    "new_indexer",
    "new_store",
    "new_thread_safe_store",
    "nothing",
    "parse_selector",
    "split_meta_namespace_key",
]
