"""Functions of `select`: they wait for pipes and sockets, and let other threads run meanwhile."""

import errno
import select

POLL_SECONDS = 0.005
MAX_SLEEP_SECONDS = 3600.0
POLLIN, POLLPRI, POLLOUT, POLLERR, POLLHUP, POLLNVAL = (
    getattr(select, name) for name in ("POLLIN", "POLLPRI", "POLLOUT", "POLLERR", "POLLHUP", "POLLNVAL")
)
ALWAYS = POLLERR | POLLHUP | POLLNVAL
READABLE, WRITABLE = POLLIN | POLLHUP | POLLERR, POLLOUT | POLLERR
MAX_MS, MAX_MASK = 2**31 - 1, 0xFFFF

_select, _poll = _socket_module.originals.select, _socket_module.originals.poll
_monotonic = _locks._monotonic


def _wait(check, seconds, step):
    """Calls `check` every `step` seconds until it returns a true value or the time has passed. Returns its last value."""
    deadline = None if seconds is None else _monotonic() + seconds
    while not (found := check()):
        left = step if deadline is None else min(deadline - _monotonic(), step)
        if left <= 0:
            break
        _threads.sleep(left)
    return found


def wait_for_events(masks, seconds):
    """
    Waits until one of the descriptors has an event of its mask. Returns the events by descriptor. Files are asked again
    after some milliseconds; pipes of processes and sockets notify those who wait.
    """
    table = _procs.current().fds
    ends = {fd: table[fd] for fd in masks if fd in table}
    files = None
    if len(ends) < len(masks):
        others = {fd: mask for fd, mask in masks.items() if fd not in ends}
        if closed := {fd: POLLNVAL for fd in others if not _is_open(fd)}:
            return {**wait_for_events({fd: mask for fd, mask in masks.items() if fd not in closed}, 0), **closed}
        files = _poll_of(others)

    def check():
        found = {fd: bits for fd, end in ends.items() if (bits := end.events() & (masks[fd] | ALWAYS))}
        if files is not None:
            found.update(files.poll(0))
        return found

    return wait_for(check, list(ends.values()), seconds, POLL_SECONDS if files is not None else None)


def wait_for(check, ends, seconds, step=None):
    """Waits until `check` returns a true value, which a change of one of the open ends may cause. Returns its value."""
    found = check()
    if found or seconds is not None and seconds <= 0:
        if not found:
            _sched.yield_now()
            found = check()
        return found
    deadline = None if seconds is None else _monotonic() + seconds
    while True:
        objects = {id(each): each for end in ends for each in end.waited}.values()
        until = deadline
        if step is not None:
            until = _monotonic() + step if deadline is None else min(deadline, _monotonic() + step)
        found = _procs.wait_until(check, objects, "one of its descriptors", until)
        if found or deadline is not None and _monotonic() >= deadline:
            return found


def _is_open(fd):
    try:
        _pipes.require_open(fd)
    except OSError:
        return False
    return True


def _poll_of(masks):
    """Returns an object that polls files of the file system."""
    files = _poll()
    for fd, mask in masks.items():
        files.register(fd, mask)
    return files


def events_of_file(fd, mask):
    """Returns the events of a mask that a file of the file system has."""
    return dict(_poll_of({fd: mask & MAX_MASK}).poll(0)).get(fd, 0)


def poll_files(events):
    """Returns the events that files of the file system have, as selectors name them, by descriptor."""
    files = _poll_of({fd: (POLLIN if each & 1 else 0) | (POLLOUT if each & 2 else 0) for fd, each in events.items()})
    found = {fd: events[fd] & ((1 if bits & READABLE else 0) | (2 if bits & WRITABLE else 0)) for fd, bits in files.poll(0)}
    return [(fd, bits) for fd, bits in found.items() if bits]


def fd_of(file):
    """Returns the descriptor of a file object, or of a number."""
    if isinstance(file, int):
        fd = int(file)
    else:
        method = getattr(file, "fileno", None)
        if method is None:
            raise TypeError("argument must be an int, or have a fileno() method.")
        fd = method()
        if not isinstance(fd, int):
            raise TypeError("fileno() returned a non-integer")
    if fd < 0:
        raise ValueError(f"file descriptor cannot be a negative integer ({fd})")
    return fd


def wait_for_files(rlist, wlist, xlist, timeout=None, /):
    """Wait until one or more file descriptors are ready for some kind of I/O."""
    timeout = None if timeout is None else _seconds(timeout)
    pairs = [[(file, fd_of(file)) for file in each] for each in (rlist, wlist, xlist)]
    files, numbers = ([[pair[part] for pair in each] for each in pairs] for part in range(2))
    table = _procs.current().fds
    if any(fd in table or fd >= _pipes.FIRST_FD for each in numbers for fd in each):
        return _wait_with_sockets(files, numbers, timeout)
    for each in numbers:
        for fd in each:
            _pipes.require_open(fd)
    found = [[], [], []]

    def check():
        found[:] = _select(*numbers, 0)
        return any(found)

    _wait(check, timeout, POLL_SECONDS if any(files) else MAX_SLEEP_SECONDS)
    return tuple([file for file, fd in each if fd in ready] for each, ready in zip(pairs, found))


def _seconds(timeout):
    if not isinstance(timeout, (int, float)) and not hasattr(timeout, "__index__") and not hasattr(timeout, "__float__"):
        raise TypeError("timeout must be a float or None")
    seconds = float(timeout)
    if seconds < 0:
        raise ValueError("timeout must be non-negative")
    return seconds


def seconds_of_epoll(timeout):
    """Returns the timeout of an epoll object, None if there is none."""
    if timeout is not None and not isinstance(timeout, (int, float)) and not hasattr(timeout, "__index__"):
        raise TypeError("timeout must be an integer or None")
    seconds = None if timeout is None else float(timeout)
    if seconds is not None and seconds > MAX_MS / 1000:
        raise OverflowError("timeout is too large")
    return None if seconds is None or seconds < 0 else seconds


def _wait_with_sockets(files, numbers, timeout):
    masks = {}
    for fds, mask in zip(numbers, (POLLIN, POLLOUT, POLLPRI)):
        for fd in fds:
            _pipes.require_open(fd)
            masks[fd] = masks.get(fd, 0) | mask
    wanted = READABLE, WRITABLE, POLLPRI
    deadline = None if timeout is None else _monotonic() + timeout
    while True:
        left = None if deadline is None else max(0.0, deadline - _monotonic())
        events = wait_for_events(masks, left)
        found = tuple(
            [file for file, fd in zip(*each) if events.get(fd, 0) & bits] for *each, bits in zip(files, numbers, wanted)
        )
        if any(found) or left == 0:
            return found
        _threads.sleep(POLL_SECONDS)  # a socket has an event that the program did not ask for


def make_poll():
    """Returns a polling object."""
    made = object.__new__(poll)
    made._masks, made._polls = {}, False
    return made


class poll:
    """Waits for events of descriptors."""

    __module__ = "select"
    __slots__ = ("_masks", "_polls")

    def __new__(cls):
        raise TypeError("cannot create 'select.poll' instances")

    def register(self, fd, eventmask=POLLIN | POLLPRI | POLLOUT, /):
        """Register a file descriptor with the polling object."""
        self._masks[fd_of(fd)] = _mask_of(eventmask)

    def modify(self, fd, eventmask, /):
        """Modify an already registered file descriptor."""
        number, mask = fd_of(fd), _mask_of(eventmask)
        if number not in self._masks:
            raise FileNotFoundError(errno.ENOENT, _addresses.error(errno.ENOENT).strerror)
        self._masks[number] = mask

    def unregister(self, fd, /):
        """Remove a file descriptor being tracked by the polling object."""
        del self._masks[fd_of(fd)]

    def poll(self, timeout=None, /):
        """Polls the set of registered file descriptors. `timeout` is in milliseconds."""
        if timeout is not None and not isinstance(timeout, (int, float)):
            raise TypeError("timeout must be an integer or None")
        if timeout is not None and timeout > MAX_MS:
            raise OverflowError("timeout is too large")
        seconds = None if timeout is None or timeout < 0 else timeout / 1000
        if not self._masks:
            _wait(lambda: [], seconds, MAX_SLEEP_SECONDS)
            return []
        if self._polls:
            raise RuntimeError("concurrent poll() invocation")
        self._polls = True
        try:
            return list(wait_for_events(self._masks, seconds).items())
        finally:
            self._polls = False


def _mask_of(value):
    if not hasattr(value, "__index__"):
        raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
    mask = value.__index__()
    if mask < 0:
        raise ValueError("value must be positive")
    if mask > MAX_MASK:
        raise OverflowError("Python int too large for C unsigned short")
    return mask
