"""Replaces the locks of `_thread`. A thread that waits for one lets other threads run."""

import _queue
import _thread
import collections
import time
import types
import warnings

DEPRECATED = "Passing arguments to RLock is deprecated and will be removed in 3.15"
TIMEOUT_MAX = _thread.TIMEOUT_MAX

_monotonic = time.monotonic


def deadline_of(timeout):
    return None if timeout is None or timeout < 0 else _monotonic() + timeout


def _check_timeout(blocking, timeout):
    if timeout != timeout:
        raise ValueError("Invalid value NaN (not a number)")
    if not blocking and timeout != -1:
        raise ValueError("can't specify a timeout for a non-blocking call")
    if timeout < 0 and timeout != -1:
        raise ValueError("timeout value must be a non-negative number")
    if timeout > TIMEOUT_MAX:
        raise OverflowError("timeout value is too large")


class lock:
    """A lock object is a synchronization primitive."""

    __slots__ = ("_held", "_waiters", "__weakref__")

    def __new__(cls):
        self = object.__new__(cls)
        self._held, self._waiters = False, None
        return self

    def __init_subclass__(cls):
        raise TypeError("type '_thread.lock' is not an acceptable base type")

    def acquire(self, blocking=True, timeout=-1):
        if timeout != -1 or not blocking:
            _check_timeout(blocking, timeout)
        if not self._held:
            self._held = True
            return True
        return bool(blocking) and self._wait(deadline_of(timeout))

    def _wait(self, deadline):
        me = _sched.running[0]
        if self._waiters is None:
            self._waiters = collections.deque()
        while self._held:
            self._waiters.append(me)
            try:
                in_time = _sched.wait("a lock", deadline)
            finally:
                if me in self._waiters:
                    self._waiters.remove(me)
                elif self._waiters and not self._held:
                    _sched.wake(self._waiters[0])
            if not in_time and self._held:
                return False
        self._held = True
        return True

    def release(self):
        if not self._held:
            raise RuntimeError("release unlocked lock")
        self._held = False
        if self._waiters:
            _sched.wake(self._waiters.popleft())

    def locked(self):
        return self._held

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *_):
        self.release()

    def __repr__(self):
        state = "locked" if self._held else "unlocked"
        return f"<{state} _thread.lock object at {id(self):#x}>"

    def _at_fork_reinit(self):
        self._held, self._waiters = False, None

    acquire_lock, release_lock, locked_lock = acquire, release, locked


class RLock:
    """A lock that one thread may acquire several times."""

    __slots__ = ("_lock", "_owner", "_count", "__weakref__")

    def __new__(cls, *args, **kwargs):
        if args or kwargs:
            warnings.warn(DEPRECATED, DeprecationWarning, stacklevel=2)
        self = object.__new__(cls)
        self._lock, self._owner, self._count = lock(), None, 0
        return self

    def acquire(self, blocking=True, timeout=-1):
        me = _sched.running[0]
        if self._owner is me:
            self._count += 1
            return True
        if not self._lock.acquire(blocking, timeout):
            return False
        self._owner, self._count = me, 1
        return True

    def release(self):
        if self._owner is not _sched.running[0]:
            raise RuntimeError("cannot release un-acquired lock")
        self._count -= 1
        if not self._count:
            self._owner = None
            self._lock.release()

    def locked(self):
        return self._count > 0

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *_):
        self.release()

    def __repr__(self):
        owner = self._owner.ident if self._owner else 0
        state = "locked" if self._count else "unlocked"
        name = f"{type(self).__module__}.{type(self).__qualname__}"
        return f"<{state} {name} object owner={owner} count={self._count} at {id(self):#x}>"

    def _recursion_count(self):
        return self._count if self._is_owned() else 0

    def _is_owned(self):
        return self._owner is _sched.running[0]

    def _release_save(self):
        if not self._count:
            raise RuntimeError("cannot release un-acquired lock")
        state = self._count, self._owner
        self._count, self._owner = 0, None
        self._lock.release()
        return state

    def _acquire_restore(self, state):
        self._lock.acquire()
        self._count, self._owner = state

    def _at_fork_reinit(self):
        self._lock, self._owner, self._count = lock(), None, 0


class SimpleQueue:
    """Simple, unbounded, reentrant FIFO queue."""

    __slots__ = ("_items", "_waiters", "__weakref__")
    __class_getitem__ = classmethod(types.GenericAlias)

    def __new__(cls, *args, **kwargs):
        if cls is SimpleQueue and (args or kwargs):
            raise TypeError("SimpleQueue() takes no arguments")
        self = object.__new__(cls)
        self._items, self._waiters = collections.deque(), collections.deque()
        return self

    def put(self, item, block=True, timeout=None):
        """Put the item on the queue. Never blocks."""
        self._items.append(item)
        if self._waiters:
            _sched.wake(self._waiters.popleft())

    def get(self, block=True, timeout=None):
        """Remove and return an item from the queue."""
        if block and timeout is not None:
            if timeout < 0:
                raise ValueError("'timeout' must be a non-negative number")
            if timeout > TIMEOUT_MAX:
                raise OverflowError("timeout value is too large")
        if not self._items:
            self._wait(block, timeout)
        return self._items.popleft()

    def _wait(self, block, timeout):
        if not block:
            raise _queue.Empty
        me, deadline = _sched.running[0], deadline_of(timeout)
        while not self._items:
            self._waiters.append(me)
            try:
                in_time = _sched.wait("an item of a queue", deadline)
            finally:
                if me in self._waiters:
                    self._waiters.remove(me)
                elif self._waiters and self._items:
                    _sched.wake(self._waiters.popleft())
            if not in_time and not self._items:
                raise _queue.Empty

    def put_nowait(self, item):
        """Put an item into the queue without blocking."""
        self.put(item)

    def get_nowait(self):
        """Remove and return an item from the queue without blocking."""
        return self.get(False)

    def empty(self):
        """Return True if the queue is empty, False otherwise (not reliable!)."""
        return not self._items

    def qsize(self):
        """Return the approximate size of the queue (not reliable!)."""
        return len(self._items)


for kind in (lock, RLock):
    kind.__module__ = "_thread"
SimpleQueue.__module__ = "_queue"
