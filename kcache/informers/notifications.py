"""Notifications for a handler (client-go ``updateNotification``, ``addNotification``, ``deleteNotification``)."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple, TypeAlias

from ..metadata import written_resource_version
from .handlers import ResourceEventHandler

# One is created for each change and each handler: a NamedTuple takes half the time of a frozen dataclass.
_LOG = logging.getLogger("kcache.informers")


class AddNotification(NamedTuple):
    """The addition of an object."""

    obj: Any
    is_in_initial_list: bool

    def deliver(self, handler: ResourceEventHandler) -> None:
        """Call the handler's ``on_add``."""
        handler.on_add(self.obj, self.is_in_initial_list)


class UpdateNotification(NamedTuple):
    """The possible change of an object."""

    old: Any
    new: Any

    def deliver(self, handler: ResourceEventHandler) -> None:
        """Call the handler's ``on_update``."""
        handler.on_update(self.old, self.new)


class DeleteNotification(NamedTuple):
    """The deletion of an object."""

    obj: Any

    def deliver(self, handler: ResourceEventHandler) -> None:
        """Call the handler's ``on_delete``."""
        handler.on_delete(self.obj)


Notification: TypeAlias = AddNotification | UpdateNotification | DeleteNotification


def is_initial(notification: Notification) -> bool:
    """Whether it belongs to the initial list."""
    return isinstance(notification, AddNotification) and notification.is_in_initial_list


def is_sync(notification: Notification) -> bool:
    """Whether it is an update without a new resource version: such updates go only to listeners with a due resync."""
    if not isinstance(notification, UpdateNotification):
        return False
    version = written_resource_version(notification.new)
    return version is not None and version == written_resource_version(notification.old)


def deliver(notification: Notification, handler: ResourceEventHandler) -> None:
    """Call the handler; its errors are logged, so that later notifications are delivered as well."""
    try:
        notification.deliver(handler)
    except Exception:
        _LOG.exception("the event handler %r failed for %r", handler, notification)
    except (SystemExit, KeyboardInterrupt, GeneratorExit):
        _LOG.critical(
            "the event handler %r has ended its thread, so it receives no more events", handler, exc_info=True
        )
        raise
