"""An asyncio event loop on the bridge: it waits there for timers, and replies of tools wake it."""

import asyncio
import asyncio.base_events
import asyncio.events


LOOP_FILES = (asyncio.base_events.__file__, asyncio.events.__file__, "<paddock event_loop>")
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


class GuestLoop(asyncio.base_events.BaseEventLoop):
    """A loop that runs during an exec and pauses between two."""

    def __init__(self):
        super().__init__()
        self._selector = self
        self._waiter = None
        self._is_woken = False

    def select(self, timeout):
        """Waits for the next timer or a reply. Called once per iteration."""
        _raise_held()
        ms = 3_600_000.0 if timeout is None else max(timeout, 0) * 1000
        if _sched.threads:
            self._wait_with_threads(timeout)
        elif _tools._waiting:
            _tools._collect(ms)
        elif ms > 0:
            _bridge.pause(ms)
        _raise_held()
        return ()

    def _wait_with_threads(self, timeout):
        """Lets other threads run until a timer, a reply or one of them wakes this loop."""
        if timeout is not None and timeout <= 0:
            _sched.yield_now()
        elif not self._is_woken:
            self._waiter = _sched.running[0]
            try:
                deadline = None if timeout is None else self.time() + timeout
                _sched.wait("its event loop", deadline, reply=bool(_tools._waiting))
            finally:
                self._waiter = None
        self._is_woken = False

    async def _make_subprocess_transport(self, *args, **kwargs):
        import _async_processes

        return await _async_processes.connect(self, *args, **kwargs)

    def _make_read_pipe_transport(self, pipe, protocol, waiter=None, extra=None):
        import _async_processes

        return _async_processes.ReadPipe(self, pipe, protocol, waiter)

    def _make_write_pipe_transport(self, pipe, protocol, waiter=None, extra=None):
        import _async_processes

        return _async_processes.WritePipe(self, pipe, protocol, waiter)

    def _process_events(self, event_list):
        pass

    def _write_to_self(self):
        """Wakes the loop, from another thread."""
        self._is_woken = True
        if self._waiter is not None:
            _sched.wake(self._waiter)


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
