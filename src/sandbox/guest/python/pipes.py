"""Pipes between processes and threads. Their descriptors are above those of files."""

import errno
import io
import itertools
import os
import posix
import select
import stat

FIRST_FD = 1 << 16
MAX_FDS = 1024
CAPACITY, PIPE_BUF = 65536, 4096
MAX_RESERVED_BYTES = 1 << 20
MAX_DEVICE_BYTES = (1 << 25) - 1
POLLIN, POLLOUT, POLLERR, POLLHUP = select.POLLIN, select.POLLOUT, select.POLLERR, select.POLLHUP

_os_read, _os_write, _os_close, _os_dup, _fdopen = os.read, os.write, os.close, os.dup, os.fdopen
_set_blocking, _isatty, _fstat, _lseek = os.set_blocking, os.isatty, os.fstat, os.lseek
_get_blocking, _get_inheritable, _set_inheritable = os.get_blocking, os.get_inheritable, os.set_inheritable


class Pipe:
    """Bytes on their way. Notifies those who wait for data or for room."""

    __slots__ = ("data", "readers", "writers", "waiters")

    def __init__(self):
        self.data, self.readers, self.writers, self.waiters = bytearray(), 1, 1, []


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

    def is_readable(self):
        return bool(self.reads.data) or self.reads.writers == 0

    def read(self, size):
        pipe = self._require(self.reads)
        _procs.wait_until(self.is_readable, [pipe], "data in a pipe")
        data = bytes(pipe.data[:size])
        del pipe.data[:size]
        _procs.notify(pipe)
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
            _procs.notify(pipe)
        return at

    def release(self):
        self.uses -= 1
        if self.uses:
            return
        if self.reads:
            self.reads.readers -= 1
            _procs.notify(self.reads)
        if self.writes:
            self.writes.writers -= 1
            _procs.notify(self.writes)

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


_fd_numbers = itertools.count(FIRST_FD)
_sent = {}
"""Ends that are on their way to another process."""


_inheritable = set()
"""The descriptors of this module that a program has made inheritable."""


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


class PipeFile(io.RawIOBase):
    """The file object of a descriptor of this module."""

    def __init__(self, fd, mode, closefd=True):
        self._fd, self.mode, self.name, self._closefd = fd, mode, fd, closefd

    def fileno(self):
        self._checkClosed()
        return self._fd

    def readable(self):
        return "r" in self.mode

    def writable(self):
        return "w" in self.mode

    def readinto(self, buffer):
        data = read(self._fd, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def write(self, data):
        return write(self._fd, data)

    def close(self):
        if not self.closed:
            super().close()
            if self._closefd:
                close(self._fd)


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


def read(fd, length, /):
    """Read from a file descriptor.  Returns a bytes object."""
    end = _procs.current().fds.get(fd)
    if end is not None:
        return end.read(length)
    return _os_read(fd, length if length <= MAX_RESERVED_BYTES else _readable_length(fd, length))


def _readable_length(fd, length):
    """Returns a length that a read can give. Python reserves all of it, which `os.read(0, 10**9)` has no memory for."""
    status = _fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        return min(length, MAX_DEVICE_BYTES)
    return min(length, max(0, status.st_size - _lseek(fd, 0, os.SEEK_CUR)))


def write(fd, data, /):
    """Write a bytes object to a file descriptor."""
    end = _procs.current().fds.get(fd)
    return _os_write(fd, data) if end is None else end.write(data)


def close(fd):
    """Close a file descriptor."""
    end = _procs.current().fds.pop(fd, None)
    if end is not None:
        _inheritable.discard(fd)
        end.release()
    elif fd < FIRST_FD:
        _os_close(fd)  # others are of another process, whose file objects are freed here


def dup(fd, /):
    """Return a duplicate of a file descriptor."""
    return add(end_of(fd)) if fd in _procs.current().fds else _os_dup(fd)


def set_blocking(fd, blocking, /):
    """Set the blocking mode of the specified file descriptor."""
    end = _procs.current().fds.get(fd)
    if end is None:
        return _set_blocking(fd, blocking)
    if isinstance(end, _endpoints.Endpoint):
        end.blocking = bool(blocking)


def get_blocking(fd, /):
    """Get the blocking mode of the file descriptor."""
    end = _procs.current().fds.get(fd)
    return _get_blocking(fd) if end is None else getattr(end, "blocking", True)


def get_inheritable(fd, /):
    """Get the close-on-exe flag of the specified file descriptor."""
    return fd in _inheritable if fd in _procs.current().fds else _get_inheritable(fd)


def set_inheritable(fd, inheritable, /):
    """Set the inheritable flag of the specified file descriptor."""
    if fd not in _procs.current().fds:
        return _set_inheritable(fd, inheritable)
    (_inheritable.add if inheritable else _inheritable.discard)(fd)


def require_open(fd):
    """Raises OSError if a number is no open descriptor of the running process."""
    if fd in _procs.current().fds:
        return
    if fd >= FIRST_FD or fd < 0:
        raise _bad_descriptor()
    _fstat(fd)


def isatty(fd, /):
    """Return True if the fd is connected to a terminal."""
    return False if fd in _procs.current().fds else _isatty(fd)


def open_end(file, mode="r", buffering=-1, *args, **options):
    """Opens a descriptor, as `open` does."""
    if file not in _procs.current().fds:
        return io.open(file, mode, buffering, *args, **options)
    raw = PipeFile(file, "w" if "w" in mode else "r", options.pop("closefd", True))
    if buffering == 0:
        return raw
    buffered = (io.BufferedWriter if raw.writable() else io.BufferedReader)(
        raw, buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE
    )
    return buffered if "b" in mode else io.TextIOWrapper(buffered, *args, **options)


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


for name, function in {
    "read": read,
    "write": write,
    "close": close,
    "dup": dup,
    "set_blocking": set_blocking,
    "get_blocking": get_blocking,
    "get_inheritable": get_inheritable,
    "set_inheritable": set_inheritable,
    "isatty": isatty,
    "getpid": _procs.getpid,
    "getppid": _procs.getppid,
    "kill": _procs.kill,
    "waitpid": _procs.waitpid,
    "wait": _procs.wait,
    "_exit": _procs.exit_now,
}.items():
    function.__name__ = function.__qualname__ = name
    function.__module__ = "posix"
    setattr(os, name, function)
    setattr(posix, name, function)
