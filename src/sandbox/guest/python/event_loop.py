"""An asyncio event loop on the bridge: it waits there for timers, and replies of tools wake it."""

import asyncio
import asyncio.base_events
import asyncio.events
import asyncio.selector_events
import asyncio.unix_events
import selectors
import socket

LOOP_FILES = (
    asyncio.base_events.__file__,
    asyncio.events.__file__,
    asyncio.selector_events.__file__,
    selectors.__file__,
    "<paddock event_loop>",
)
"""Files in whose code an interrupt would leave the loop unusable."""

_held = [False]


def hold_interrupt(frame):
    """Holds an interrupt back if it arrives inside the loop's own code. Returns True if it was held back."""
    while frame is not None and frame.f_code.co_filename == "<paddock bridge>":
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename not in LOOP_FILES:
        return False
    _held[0] = True
    return True


def drop_interrupt():
    """Drops an interrupt that was held back for the previous block. Called before each block."""
    _held[0] = False


def _raise_held():
    if _held[0]:
        _held[0] = False
        raise KeyboardInterrupt


EVENT_READ, EVENT_WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
MAX_SECONDS = 3600.0


class _Selector(selectors._BaseSelectorImpl):
    """Waits for descriptors, timers, replies of tools and other threads."""

    def __init__(self):
        super().__init__()
        self._waiter = None
        self._is_woken = False

    def select(self, timeout=None):
        """Called once per iteration of the loop."""
        _raise_held()
        found = self._find_ready() if self._fd_to_key else ()
        if found:
            return found
        if self._fd_to_key and (timeout is None or timeout > 0):
            found = self._wait_for_descriptors(timeout)
        elif _sched.threads:
            self._wait_with_threads(timeout)
        else:
            self._wait_alone(MAX_SECONDS * 1000 if timeout is None else max(timeout, 0) * 1000)
        _raise_held()
        return found or (self._find_ready() if self._fd_to_key else ())

    def _wait_alone(self, ms):
        if _tools._waiting:
            _tools._collect(ms)
        elif ms > 0:
            _bridge.pause(ms)

    def _wait_with_threads(self, timeout):
        """Lets other threads run until a timer, a reply or one of them wakes this loop."""
        if timeout is not None and timeout <= 0:
            _sched.yield_now()
        elif not self._is_woken:
            self._waiter = _sched.running[0]
            try:
                deadline = None if timeout is None else _locks.deadline_of(timeout)
                _sched.wait("its event loop", deadline, reply=bool(_tools._waiting))
            finally:
                self._waiter = None
        self._is_woken = False

    def _wait_for_descriptors(self, timeout):
        table = _procs.current().fds
        objects = [each for fd in self._fd_to_key if fd in table for each in table[fd].waited]
        seconds = MAX_SECONDS if timeout is None else timeout
        if any(fd not in table for fd in self._fd_to_key):
            seconds = min(seconds, _polling.POLL_SECONDS)  # a file of the file system notifies nobody
        self._waiter = _sched.running[0]
        try:
            deadline = _locks.deadline_of(seconds)
            self._wait_until_ready(objects, deadline)
        finally:
            self._waiter = None
            self._is_woken = False
        return self._find_ready()

    def _wait_until_ready(self, objects, deadline):
        is_ready = lambda: self._is_woken or self._find_ready()
        _procs.wait_until(is_ready, objects, "its event loop", deadline, reply=bool(_tools._waiting))

    def _find_ready(self):
        """Returns the keys with their events."""
        table, found, files = _procs.current().fds, [], None
        for fd, key in self._fd_to_key.items():
            end = table.get(fd)
            if end is None:
                files = _polling.poll_files({each: key.events for each, key in self._fd_to_key.items() if each not in table})
                continue
            bits = end.events()
            events = (EVENT_READ if bits & _polling.READABLE else 0) | (EVENT_WRITE if bits & _polling.WRITABLE else 0)
            if events & key.events:
                found.append((key, events & key.events))
        for fd, bits in files or ():
            found.append((self._fd_to_key[fd], bits))
        return found

    def wake(self):
        self._is_woken = True
        if self._waiter is not None:
            _sched.wake(self._waiter)


class GuestLoop(asyncio.unix_events._UnixSelectorEventLoop):
    """A loop that runs during an exec and pauses between two."""

    add_signal_handler = asyncio.events.AbstractEventLoop.add_signal_handler
    remove_signal_handler = asyncio.events.AbstractEventLoop.remove_signal_handler

    def __init__(self):
        super().__init__(_Selector())

    def _make_self_pipe(self):
        pass  # other threads wake the selector itself

    _close_self_pipe = _make_self_pipe

    def _write_to_self(self):
        """Wakes the loop, from another thread."""
        if self._selector is not None:
            self._selector.wake()

    async def getaddrinfo(self, host, port, *, family=0, type=0, proto=0, flags=0):
        return socket.getaddrinfo(host, port, family, type, proto, flags)

    async def getnameinfo(self, sockaddr, flags=0):
        return socket.getnameinfo(sockaddr, flags)

    async def _make_subprocess_transport(self, *args, **kwargs):
        import _async_processes

        return await _async_processes.connect(self, *args, **kwargs)

    def _make_read_pipe_transport(self, pipe, protocol, waiter=None, extra=None):
        import _async_processes

        return _async_processes.ReadPipe(self, pipe, protocol, waiter)

    def _make_write_pipe_transport(self, pipe, protocol, waiter=None, extra=None):
        import _async_processes

        return _async_processes.WritePipe(self, pipe, protocol, waiter)


class _GuestPolicy(asyncio.events._BaseDefaultEventLoopPolicy):
    _loop_factory = GuestLoop

    def get_event_loop(self):
        """Creates a loop if there is none, as Python did until 3.13 and many programs expect."""
        if self._local._loop is None:
            self.set_event_loop(self.new_event_loop())
        return super().get_event_loop()


asyncio.events._set_event_loop_policy(_GuestPolicy())
asyncio.events._set_running_loop(None)
asyncio.run = asyncio.runners.run
