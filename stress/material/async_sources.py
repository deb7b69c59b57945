"""Sources of small async classes, of which an argument chooses the right variant or the broken one."""

from __future__ import annotations

from typing import Final

LIMITER: Final = """
import asyncio

class Limiter:
    '''At most so many at a time; a waiter that is cancelled after it was woken must wake the next one.'''
    def __init__(self, free, hands_on):
        self.free, self.hands_on, self.waiters = free, hands_on, []
    async def acquire(self):
        if self.free:
            self.free -= 1
            return
        waiter = asyncio.get_running_loop().create_future()
        self.waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter in self.waiters:
                self.waiters.remove(waiter)
            elif self.hands_on and not waiter.cancelled():
                self.release()
            raise
    def release(self):
        while self.waiters:
            waiter = self.waiters.pop(0)
            if not waiter.done():
                waiter.set_result(None)
                return
        self.free += 1
"""

GATE: Final = """
import asyncio

class Gate:
    def __init__(self, is_safe):
        self.users, self.is_safe = 0, is_safe

    async def use(self):
        self.users += 1
        if self.is_safe:
            try:
                await asyncio.sleep(0)
            finally:
                self.users -= 1
        else:
            await asyncio.sleep(0)
            self.users -= 1
"""
