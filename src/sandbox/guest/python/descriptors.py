"""Functions of `os` and `fcntl` for the descriptors of pipes and sockets, beside those of files."""

import errno
import fcntl
import io
import os
import posix
import stat

MAX_RESERVED_BYTES = 1 << 20
MAX_DEVICE_BYTES = (1 << 25) - 1

_os_read, _os_write, _set_blocking, _isatty, _fstat, _lseek = os.read, os.write, os.set_blocking, os.isatty, os.fstat, os.lseek
_get_blocking, _get_inheritable, _set_inheritable = os.get_blocking, os.get_inheritable, os.set_inheritable
_fcntl, _dup2 = fcntl.fcntl, os.dup2


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
                _pipes.close(self._fd)


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


def set_blocking(fd, blocking, /):
    """Set the blocking mode of the specified file descriptor."""
    end = _procs.current().fds.get(fd)
    if end is None:
        return _set_blocking(fd, blocking)
    if hasattr(end, "blocking"):
        end.blocking = bool(blocking)


def get_blocking(fd, /):
    """Get the blocking mode of the file descriptor."""
    end = _procs.current().fds.get(fd)
    return _get_blocking(fd) if end is None else getattr(end, "blocking", True)


def get_inheritable(fd, /):
    """Get the close-on-exe flag of the specified file descriptor."""
    return fd in _pipes.inheritable if fd in _procs.current().fds else _get_inheritable(fd)


def set_inheritable(fd, inheritable, /):
    """Set the inheritable flag of the specified file descriptor."""
    if fd not in _procs.current().fds:
        return _set_inheritable(fd, inheritable)
    (_pipes.inheritable.add if inheritable else _pipes.inheritable.discard)(fd)


def dup2(fd, fd2, inheritable=True):
    """Duplicate file descriptor."""
    fds = _procs.current().fds
    if fd not in fds and fd2 not in fds:
        return _dup2(fd, fd2, inheritable)
    if fd2 < _pipes.FIRST_FD and fd2 not in fds:
        raise OSError(errno.EINVAL, "os.dup2() cannot put a pipe or a socket in the place of a file of the sandbox")
    _pipes.require_open(fd)
    if fd != fd2:
        end = _pipes.end_of(fd)
        _pipes.close(fd2)
        fds[fd2] = end
        set_inheritable(fd2, inheritable)
    return fd2


def isatty(fd, /):
    """Return True if the fd is connected to a terminal."""
    return False if fd in _procs.current().fds else _isatty(fd)


def control(fd, cmd, arg=0, /):
    """Perform the operation `cmd` on file descriptor fd."""
    number = fd if isinstance(fd, int) else fd.fileno()
    if number not in _procs.current().fds:
        return _fcntl(fd, cmd, arg)
    if cmd == fcntl.F_GETFL:
        return os.O_RDWR | (0 if get_blocking(number) else os.O_NONBLOCK)
    if cmd == fcntl.F_SETFL:
        set_blocking(number, not arg & os.O_NONBLOCK)
    elif cmd == fcntl.F_GETFD:
        return 0 if get_inheritable(number) else fcntl.FD_CLOEXEC
    elif cmd == fcntl.F_SETFD:
        set_inheritable(number, not arg & fcntl.FD_CLOEXEC)
    else:
        raise OSError(errno.EINVAL, f"fcntl() has no operation {cmd} for pipes and sockets of the sandbox")
    return 0


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


for name, function in {
    "read": read,
    "write": write,
    "close": _pipes.close,
    "dup": _pipes.dup,
    "dup2": dup2,
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
control.__name__ = control.__qualname__ = "fcntl"
control.__module__ = "fcntl"
fcntl.fcntl = control
