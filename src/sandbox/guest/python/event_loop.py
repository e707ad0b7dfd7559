"""An asyncio event loop without a host: timers wait in the bridge, and answers of tools wake it."""

import asyncio
import asyncio.base_events
import asyncio.events


MACHINERY = (asyncio.base_events.__file__, asyncio.events.__file__, "<paddock event_loop>")
"""Where an interrupt would leave a loop that can never run again."""

_held = [False]


def hold_interrupt(frame):
    """Keeps an interrupt for later when it arrives in the works of a loop; says whether it did."""
    while frame is not None and frame.f_code.co_filename == "<paddock bridge>":
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename not in MACHINERY:
        return False
    _held[0] = True
    return True


def drop_interrupt():
    """Called before each block: what was kept for the last one is not for this one."""
    _held[0] = False


def _raise_held():
    if _held[0]:
        _held[0] = False
        raise KeyboardInterrupt


class GuestLoop(asyncio.base_events.BaseEventLoop):
    """Runs inside one exec and stands still between two."""

    def __init__(self):
        super().__init__()
        self._selector = self

    def select(self, timeout):
        """Called once a round: waits until the next timer, or for an answer."""
        _raise_held()
        ms = 3_600_000.0 if timeout is None else max(timeout, 0) * 1000
        if _tools._waiting:
            _tools._collect(ms)
        elif ms > 0:
            _bridge.pause(ms)
        _raise_held()
        return ()

    def _process_events(self, event_list):
        pass

    def _write_to_self(self):
        pass


class _GuestPolicy(asyncio.events._BaseDefaultEventLoopPolicy):
    _loop_factory = GuestLoop

    def get_event_loop(self):
        """Makes a loop where there is none, as Python did until 3.13 and many programs expect."""
        if self._local._loop is None:
            self.set_event_loop(self.new_event_loop())
        return super().get_event_loop()


asyncio.events._set_event_loop_policy(_GuestPolicy())
asyncio.events._set_running_loop(None)
asyncio.run = asyncio.runners.run
