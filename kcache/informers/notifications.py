"""Notifications for a handler (client-go ``updateNotification``, ``addNotification``, ``deleteNotification``)."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple, TypeAlias

from ..metadata import written_resource_version
from .handlers import ResourceEventHandler

# Made for each change and each handler: a NamedTuple is made in half the time of a frozen dataclass.
_LOG = logging.getLogger("kcache.informers")


class AddNotification(NamedTuple):
    """An object is new."""

    obj: Any
    is_in_initial_list: bool

    def deliver(self, handler: ResourceEventHandler) -> None:
        """Tell the handler."""
        handler.on_add(self.obj, self.is_in_initial_list)


class UpdateNotification(NamedTuple):
    """An object may have changed."""

    old: Any
    new: Any

    def deliver(self, handler: ResourceEventHandler) -> None:
        """Tell the handler."""
        handler.on_update(self.old, self.new)


class DeleteNotification(NamedTuple):
    """An object is gone."""

    obj: Any

    def deliver(self, handler: ResourceEventHandler) -> None:
        """Tell the handler."""
        handler.on_delete(self.obj)


Notification: TypeAlias = AddNotification | UpdateNotification | DeleteNotification


def is_initial(notification: Notification) -> bool:
    """Whether it belongs to the initial list."""
    return isinstance(notification, AddNotification) and notification.is_in_initial_list


def is_sync(notification: Notification) -> bool:
    """Whether it shows the same resource version again: that is no change, only who wants resyncs is shown it."""
    if not isinstance(notification, UpdateNotification):
        return False
    version = written_resource_version(notification.new)
    return version is not None and version == written_resource_version(notification.old)


def deliver(notification: Notification, handler: ResourceEventHandler) -> None:
    """Tell the handler; what it raises is logged, for it must not keep others from being told."""
    try:
        notification.deliver(handler)
    except Exception:
        _LOG.exception("the event handler %r failed for %r", handler, notification)
    except (SystemExit, KeyboardInterrupt, GeneratorExit):
        _LOG.critical("the event handler %r has ended its thread; it is told nothing more", handler, exc_info=True)
        raise
