"""Replaces the locks of `_thread`. A thread that waits for one lets other threads run."""

import _thread
import collections
import time

TIMEOUT_MAX = _thread.TIMEOUT_MAX

_monotonic = time.monotonic


def deadline_of(timeout):
    return None if timeout is None or timeout < 0 else _monotonic() + timeout


def _check_timeout(blocking, timeout):
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

    def __new__(cls, *_args, **_kwargs):
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


for kind in (lock, RLock):
    kind.__module__ = "_thread"
