"""Pipes between processes and threads. Their descriptors are above those of files."""

import errno
import itertools
import os
import select

FIRST_FD = 1 << 16
MAX_FDS = 1024
CAPACITY, PIPE_BUF = 65536, 4096
POLLIN, POLLOUT, POLLERR, POLLHUP = select.POLLIN, select.POLLOUT, select.POLLERR, select.POLLHUP

_os_read, _os_write, _os_close, _os_dup, _fstat = os.read, os.write, os.close, os.dup, os.fstat


class Pipe:
    """Bytes on their way. Notifies those who wait for data or for room."""

    __slots__ = ("data", "readers", "writers", "waiters", "changes")

    def __init__(self):
        self.data, self.readers, self.writers, self.waiters = bytearray(), 1, 1, []
        self.changes = 0

    def notify(self):
        """Wakes the threads that wait for this pipe."""
        self.changes += 1
        _procs.notify(self)


class End:
    """An open end of a pipe, or of two for a connection. Several descriptors may refer to it."""

    __slots__ = ("reads", "writes", "uses")

    def __init__(self, reads=None, writes=None):
        self.reads, self.writes, self.uses = reads, writes, 1

    @property
    def waited(self):
        """The objects that notify when this end changes."""
        return [pipe for pipe in (self.reads, self.writes) if pipe is not None]

    def events(self):
        """Returns what `poll` would report."""
        found = 0
        if self.reads is not None:
            found |= (POLLIN if self.reads.data else 0) | (POLLHUP if self.reads.writers == 0 else 0)
        if self.writes is not None:
            found |= POLLERR if self.writes.readers == 0 else POLLOUT if self.is_writable() else 0
        return found

    def mark(self):
        """Returns a value that differs after a change, even if the events are the same."""
        return [pipe.changes for pipe in self.waited]

    def is_readable(self):
        return bool(self.reads.data) or self.reads.writers == 0

    def read(self, size):
        pipe = self._require(self.reads)
        _procs.wait_until(self.is_readable, [pipe], "data in a pipe")
        data = bytes(pipe.data[:size])
        del pipe.data[:size]
        pipe.notify()
        return data

    def is_writable(self):
        return self.writes.readers == 0 or len(self.writes.data) <= CAPACITY - PIPE_BUF

    def write(self, data):
        pipe = self._require(self.writes)
        view = memoryview(data).cast("B")
        at = 0
        while at < len(view):
            _procs.wait_until(self.is_writable, [pipe], "room in a pipe")
            if pipe.readers == 0:
                raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
            piece = view[at : at + CAPACITY - len(pipe.data)]
            pipe.data += piece
            at += len(piece)
            pipe.notify()
        return at

    def release(self):
        self.uses -= 1
        if self.uses:
            return
        if self.reads:
            self.reads.readers -= 1
            self.reads.notify()
        if self.writes:
            self.writes.writers -= 1
            self.writes.notify()

    def _require(self, pipe):
        if pipe is None:
            raise _bad_descriptor()
        return pipe


class ReadyEnd:
    """An end that is always ready."""

    __slots__ = ()
    waited = ()

    def events(self):
        return POLLIN | POLLOUT

    def mark(self):
        return None

    def is_readable(self):
        return True


class FileEnd(ReadyEnd):
    """A file that a process has as a standard stream."""

    __slots__ = ("fd", "uses", "is_own")

    def __init__(self, fd):
        self.is_own = fd > 2
        self.fd, self.uses = _os_dup(fd) if self.is_own else fd, 1

    def read(self, size):
        return _os_read(self.fd, size)

    def write(self, data):
        return _os_write(self.fd, data)

    def release(self):
        self.uses -= 1
        if not self.uses and self.is_own:
            _os_close(self.fd)


inheritable = set()
"""The descriptors of this module that a program has made inheritable."""

_fd_numbers = itertools.count(FIRST_FD)
_sent = {}
"""Ends that are on their way to another process."""


def send(fd):
    """Returns a number by which another process can receive the end that a descriptor refers to."""
    end = _procs.current().fds[fd]
    end.uses += 1
    number = max(_sent, default=0) + 1
    _sent[number] = end
    return number


def receive(number):
    """Returns a new descriptor for an end that another process sent."""
    return add(_sent.pop(number))


def _bad_descriptor():
    return OSError(errno.EBADF, os.strerror(errno.EBADF))


def add(end):
    """Returns a new descriptor of the running process for an end."""
    fds = _procs.current().fds
    if len(fds) >= MAX_FDS:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    fd = next(_fd_numbers)
    fds[fd] = end
    return fd


def pipe():
    """Returns the descriptors of a new pipe: its end to read from, and that to write to."""
    shared = Pipe()
    return add(End(reads=shared)), add(End(writes=shared))


def connection_pair():
    """Returns the descriptors of two ends that are connected in both directions."""
    one, other = Pipe(), Pipe()
    return add(End(one, other)), add(End(other, one))


def end_of(fd):
    """Returns the end that a descriptor refers to, for another process."""
    end = _procs.current().fds.get(fd)
    if end is None:
        return FileEnd(fd)
    end.uses += 1
    return end


def inherit(fds):
    """Returns the descriptors of a forked process."""
    for end in fds.values():
        end.uses += 1
    return dict(fds)


def close_all(process):
    fds, process.fds = process.fds, {}
    for end in fds.values():
        end.release()


def close(fd):
    """Close a file descriptor."""
    end = _procs.current().fds.pop(fd, None)
    if end is not None:
        inheritable.discard(fd)
        end.release()
    elif fd < FIRST_FD:
        _os_close(fd)  # others are of another process, whose file objects are freed here


def dup(fd, /):
    """Return a duplicate of a file descriptor."""
    return add(end_of(fd)) if fd in _procs.current().fds else _os_dup(fd)


def require_open(fd):
    """Raises OSError if a number is no open descriptor of the running process."""
    if fd in _procs.current().fds:
        return
    if fd >= FIRST_FD or fd < 0:
        raise _bad_descriptor()
    _fstat(fd)


def wait_readable(fds, timeout, also=()):
    """Waits until one of the descriptors can be read or one of the processes in `also` has ended. Returns those."""
    table = _procs.current().fds
    ends = {fd: table[fd] for fd in fds}
    waited = [each for end in ends.values() for each in end.waited]

    def find_ready():
        readable = [fd for fd, end in ends.items() if end.is_readable()]
        return readable + [process for process in also if process.ended]

    if timeout is not None and timeout <= 0:
        _sched.yield_now()
        return find_ready()
    return _procs.wait_until(find_ready, [*waited, *also], "data in a pipe", _locks.deadline_of(timeout))
