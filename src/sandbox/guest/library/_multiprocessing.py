"""Semaphores of `multiprocessing`, which CPython has in C."""

from paddock import _locks, _processes, _scheduler

flags = {}


class _Semaphore:
    """A semaphore that processes share."""

    __slots__ = ("value", "waiters", "__weakref__")

    def __init__(self, value):
        self.value, self.waiters = value, []

    def take(self):
        if self.value > 0:
            self.value -= 1
            return True
        return False


class SemLock:
    """Semaphore/Mutex type"""

    SEM_VALUE_MAX = 2147483647

    def __init__(self, kind, value, maxvalue, name, unlink):
        if kind not in (0, 1):
            raise ValueError("unrecognized kind")
        self.kind, self.maxvalue, self.name = kind, maxvalue, None
        self._semaphore = _Semaphore(value)
        self._holders = {}
        _processes.shared[id(self._semaphore)] = self._semaphore

    @classmethod
    def _rebuild(cls, handle, kind, maxvalue, name):
        self = object.__new__(cls)
        self.kind, self.maxvalue, self.name = kind, maxvalue, None
        self._semaphore = _processes.shared[handle]
        self._holders = {}
        return self

    @property
    def handle(self):
        from multiprocessing.context import get_spawning_popen

        if popen := get_spawning_popen():
            popen.keep(self._semaphore)  # until the child has it
        return id(self._semaphore)

    def acquire(self, block=True, timeout=None):
        process = _processes.current()
        count, thread = self._holders.get(process, (0, None))
        me = _scheduler.running[0]
        if self.kind == 0 and count and thread is me:
            self._holders[process] = count + 1, me
            return True
        if not self._semaphore.take():
            if not block or (timeout is not None and timeout <= 0):
                _scheduler.yield_now()
                if not self._semaphore.take():
                    return False
            else:
                deadline = _locks.deadline_of(timeout)
                if not _processes.wait_until(self._semaphore.take, [self._semaphore], "a semaphore", deadline):
                    return False
        self._holders[process] = self._holders.get(process, (0, None))[0] + 1, me
        return True

    def release(self):
        process = _processes.current()
        count, thread = self._holders.get(process, (0, None))
        if self.kind == 0:
            if not self._is_mine():
                raise AssertionError("attempt to release recursive lock not owned by thread")
            if count > 1:
                self._holders[process] = count - 1, thread
                return
        elif self._semaphore.value >= self.maxvalue:
            raise ValueError("semaphore or lock released too many times")
        self._holders[process] = count - 1, thread
        self._semaphore.value += 1
        _processes.notify(self._semaphore)

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *_):
        self.release()

    def _count(self):
        return self._holders.get(_processes.current(), (0, None))[0]

    def _is_mine(self):
        count, thread = self._holders.get(_processes.current(), (0, None))
        return count > 0 and thread is _scheduler.running[0]

    def _get_value(self):
        return self._semaphore.value

    def _is_zero(self):
        return self._semaphore.value == 0

    def _after_fork(self):
        pass


def sem_unlink(name):
    pass
