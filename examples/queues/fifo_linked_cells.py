"""A FIFO of cells, one for each place in the queue: a cell that was emptied is skipped."""

import threading
from collections import deque

from kcache import FIFOClosedError, KeyFuncError


class FifoLinkedCells:
    """``cells``: key -> its first cell in the queue, filled or emptied."""

    def __init__(self, key_func):
        self._key_func = key_func
        self._changed = threading.Condition(threading.Lock())
        self._queue = deque()
        self._is_closed = False
        self._left = None  # until something was written

    def _key(self, obj):
        try:
            return self._key_func(obj)
        except Exception as error:
            raise KeyFuncError(obj, error) from error

    def _cell(self, key):
        return next((cell for cell in self._queue if cell[0] == key), None)

    def add(self, obj):
        key = self._key(obj)
        with self._changed:
            self._left = self._left or 0
            cell = self._cell(key)
            if cell is None:
                self._queue.append([key, obj])
            else:
                if len(cell) == 1:
                    cell.append(obj)
                    self._queue.append([key])
                cell[1] = obj
            self._changed.notify()

    update = add

    def delete(self, obj):
        key = self._key(obj)
        with self._changed:
            self._left = self._left or 0
            cell = self._cell(key)
            if cell is not None:
                del cell[1:]

    def replace(self, objs, resource_version=""):
        newest = {self._key(obj): obj for obj in objs}
        with self._changed:
            if self._left is None:
                self._left = len(newest)
            self._queue = deque([key, obj] for key, obj in newest.items())
            self._changed.notify_all()

    def resync(self):
        """There is nothing to show."""

    def has_synced(self):
        with self._changed:
            return self._left == 0

    def is_closed(self):
        with self._changed:
            return self._is_closed

    def close(self):
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def pop(self, process):
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._queue or self._is_closed)
                if not self._queue:
                    raise FIFOClosedError
                is_in_initial_list = self._left != 0
                _, *objects = self._queue.popleft()
                self._left = self._left and self._left - 1
                if objects:
                    process(objects[0], is_in_initial_list)
                    return objects[0]


new_queue = FifoLinkedCells
