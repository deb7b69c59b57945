"""Caches that follow an API server (client-go ``tools/cache`` informers).

A :class:`Reflector` lists and watches, a queue transports the changes, and a :class:`Controller` applies them. A
:class:`SharedIndexInformer` contains all of these, with any number of handlers. A :class:`SharedInformerFactory` has
one informer per type. Objects may be manifests (mappings) or models of the official client.
"""

from ..errors import InformerStartedError, InformerStoppedError, ObjectMutatedError
from .api_errors import ApiError, ConnectionRefusedApiError
from .clock import Clock, FakeClock, RealClock
from .controller import Config, Controller
from .handlers import (
    FilteringResourceEventHandler,
    ResourceEventHandler,
    ResourceEventHandlerDetailedFuncs,
    ResourceEventHandlerFuncs,
)
from .informer_factory import SharedInformerFactory
from .informer_queues import QueueFactory, in_order_queue, queue_by_key
from .kubernetes_client import list_watch_from_client
from .list_watch import (
    ADDED,
    BOOKMARK,
    DELETED,
    ERROR,
    MODIFIED,
    ListerWatcher,
    ListOptions,
    ListWatch,
    ObjectList,
    Watch,
    WatchEvent,
)
from .mutation_detector import MutationDetector
from .reflector import Reflector, default_watch_error_handler
from .reflector_errors import ListError, ReflectorError, SyncError, VeryShortWatchError, WatchError
from .registration import Registration
from .shared_informer import SharedIndexInformer
from .simple_informer import new_indexer_informer, new_informer
from .stopping import StopSignal
from .synced import wait_for_cache_sync

__all__ = [
    "ADDED",
    "BOOKMARK",
    "DELETED",
    "ERROR",
    "MODIFIED",
    "ApiError",
    "Clock",
    "Config",
    "ConnectionRefusedApiError",
    "Controller",
    "FakeClock",
    "FilteringResourceEventHandler",
    "InformerStartedError",
    "InformerStoppedError",
    "ListError",
    "ListOptions",
    "ListWatch",
    "ListerWatcher",
    "MutationDetector",
    "ObjectList",
    "ObjectMutatedError",
    "QueueFactory",
    "RealClock",
    "Reflector",
    "ReflectorError",
    "Registration",
    "ResourceEventHandler",
    "ResourceEventHandlerDetailedFuncs",
    "ResourceEventHandlerFuncs",
    "SharedIndexInformer",
    "SharedInformerFactory",
    "StopSignal",
    "SyncError",
    "VeryShortWatchError",
    "Watch",
    "WatchError",
    "WatchEvent",
    "default_watch_error_handler",
    "in_order_queue",
    "list_watch_from_client",
    "new_indexer_informer",
    "new_informer",
    "queue_by_key",
    "wait_for_cache_sync",
]
