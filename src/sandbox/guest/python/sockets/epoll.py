"""Methods of the type `select.epoll`, and the open file that its descriptor refers to."""

import errno
import os
import select
import stat

EPOLL_CLOEXEC, EPOLLET, EPOLLONESHOT = 0x80000, 1 << 31, 1 << 30
MASK_BITS = 0xFFFF
"""The bits of a mask that name events."""
ALWAYS = select.POLLERR | select.POLLHUP
DEFAULT_MASK = select.POLLIN | select.POLLPRI | select.POLLOUT
MAX_EVENTS, MAX_WORD = 1023, 0xFFFFFFFF

_new_error = _addresses.error
_fstat = os.fstat


class Watched:
    """A descriptor that is registered, and what of its open file was reported last."""

    __slots__ = ("fd", "end", "mask", "bits", "mark", "is_enabled")

    def __init__(self, fd, end, mask):
        self.fd, self.end = fd, end
        self.set_mask(mask)

    def set_mask(self, mask):
        self.mask, self.bits, self.mark = mask, 0, None
        self.is_enabled = True

    def is_closed(self):
        return self.end is not None and getattr(self.end, "uses", 1) <= 0

    def events(self):
        """Returns the events to report, 0 if there is none."""
        if not self.is_enabled:
            return 0
        wanted = self.mask & MASK_BITS | ALWAYS
        bits = wanted & (self.end.events() if self.end is not None else _polling.events_of_file(self.fd, wanted))
        if not self.mask & EPOLLET or bits & ~self.bits or bits and self._mark() != self.mark:
            return bits
        self.bits = bits
        return 0

    def report(self, bits):
        """Records events that are reported to the program."""
        if self.mask & EPOLLET:
            self.bits, self.mark = bits, self._mark()
        self.is_enabled = not self.mask & EPOLLONESHOT

    def _mark(self):
        return None if self.end is None else self.end.mark()


class EpollEnd:
    """The open file of an epoll object. Several descriptors may refer to it."""

    __slots__ = ("uses", "waiters", "watched")
    reads = writes = None

    def __init__(self):
        self.uses, self.waiters, self.watched = 1, [], {}

    @property
    def waited(self):
        """The objects that notify when one of the descriptors changes."""
        return (self, *(each for one in self.watched.values() if one.end is not None for each in one.end.waited))

    def events(self):
        """Returns what `poll` would report."""
        return select.POLLIN if any(each.events() for each in self._open()) else 0

    def is_readable(self):
        return bool(self.events())

    def is_writable(self):
        return False

    def mark(self):
        return object()  # an event of one of its files may be new

    def read(self, size):
        raise _new_error(errno.EINVAL)

    write = read

    def release(self):
        self.uses -= 1
        if not self.uses:
            self.watched.clear()
        _procs.notify(self)

    def has_files(self):
        return any(each.end is None for each in self.watched.values())

    def _open(self):
        for each in list(self.watched.values()):
            if each.is_closed():
                del self.watched[each.fd]
            else:
                yield each

    def add(self, fd, mask):
        end = _procs.current().fds.get(fd)
        if end is self:
            raise _new_error(errno.EINVAL)
        if fd in self.watched and not self.watched[fd].is_closed():
            raise _new_error(errno.EEXIST)
        if end is None and (stat.S_ISREG(mode := _fstat(fd).st_mode) or stat.S_ISDIR(mode)):
            raise _new_error(errno.EPERM)
        if isinstance(end, EpollEnd) and end.reaches(self):
            raise _new_error(errno.ELOOP)
        self.watched[fd] = Watched(fd, end, mask)
        _procs.notify(self)

    def reaches(self, other):
        return any(each.end is other or isinstance(each.end, EpollEnd) and each.end.reaches(other) for each in self.watched.values())

    def find(self, fd):
        """Returns a registered descriptor."""
        found = self.watched.get(fd)
        if found is None or found.is_closed():
            raise _new_error(errno.ENOENT)
        return found

    def take(self, count):
        """Returns the events of at most so many descriptors. Those that are reported come last the next time."""
        found = []
        for each in self._open():
            if len(found) == count:
                break
            if bits := each.events():
                each.report(bits)
                found.append((each.fd, bits))
                self.watched[each.fd] = self.watched.pop(each.fd)
        return found


def _end_of(fd):
    end = _procs.current().fds.get(fd)
    if isinstance(end, EpollEnd):
        return end
    _pipes.require_open(fd)
    raise _new_error(errno.EINVAL)


def _mask_of(value):
    mask = value.__index__()
    if not 0 <= mask <= MAX_WORD:
        raise OverflowError("can't convert negative value to unsigned int" if mask < 0 else "Python int too large to convert to C unsigned int")
    return mask


class epoll:
    def __init__(self, sizehint=-1, flags=0):
        if _checks.integer(sizehint) != -1 and sizehint <= 0:
            raise ValueError("negative sizehint")
        if _checks.integer(flags) & ~EPOLL_CLOEXEC:
            raise OSError("invalid flags")
        self._end = EpollEnd()
        self._fd = _pipes.add(self._end)

    @classmethod
    def fromfd(cls, fd, /):
        """Create an epoll object from a given control fd."""
        found = cls.__new__(cls)
        found._fd = _checks.integer(fd)
        found._end = _procs.current().fds.get(fd)
        return found

    def _open_end(self):
        if self._fd < 0:
            raise ValueError("I/O operation on closed epoll object")
        return _end_of(self._fd)

    @property
    def closed(self):
        """True if the epoll handler is closed"""
        return self._fd < 0

    def close(self):
        """Close the epoll control file descriptor."""
        fd, self._fd, self._end = self._fd, -1, None
        if fd >= 0:
            _pipes.close(fd)

    def fileno(self):
        """Return the epoll control file descriptor."""
        self._open_end()
        return self._fd

    def __enter__(self):
        self._open_end()
        return self

    def __exit__(self, exc_type=None, exc_value=None, exc_tb=None, /):
        self.close()

    def __del__(self):
        fd = self._fd
        if fd >= 0 and _procs.current().fds.get(fd) is self._end:
            self.close()

    def register(self, fd, eventmask=DEFAULT_MASK):
        """Registers a new fd or raises an OSError if the fd is already registered."""
        number, mask = _polling.fd_of(fd), _mask_of(eventmask)
        end = self._open_end()
        _pipes.require_open(number)
        end.add(number, mask)

    def modify(self, fd, eventmask):
        """Modify event mask for a registered file descriptor."""
        number, mask = _polling.fd_of(fd), _mask_of(eventmask)
        end = self._open_end()
        _pipes.require_open(number)
        end.find(number).set_mask(mask)
        _procs.notify(end)

    def unregister(self, fd):
        """Remove a registered file descriptor from the epoll object."""
        number, end = _polling.fd_of(fd), self._open_end()
        _pipes.require_open(number)
        end.find(number)
        del end.watched[number]

    def poll(self, timeout=None, maxevents=-1):
        """Wait for events on the epoll file descriptor. `timeout` is in seconds."""
        end = self._open_end()
        seconds = _polling.seconds_of_epoll(timeout)
        count = MAX_EVENTS if _checks.integer(maxevents) == -1 else maxevents
        if count <= 0:
            raise ValueError(f"maxevents must be greater than 0, got {maxevents}")
        return _polling.wait_for(lambda: end.take(count), [end], seconds, _polling.POLL_SECONDS if end.has_files() else None) or []


_late_modules.fill(_socket_module.epoll, epoll)
