"""Replaces `select.select` and `select.poll`, which do not wait on Emscripten, by functions that let other threads run."""

import select
import selectors
import time

POLL_SECONDS = 0.005
MAX_SLEEP_SECONDS = 3600.0

_select, _poll = select.select, select.poll
_monotonic = time.monotonic


def _wait(check, seconds, step):
    """Calls `check` every `step` seconds until it returns a true value or the time has passed. Returns its last value."""
    deadline = None if seconds is None else _monotonic() + seconds
    while not (found := check()):
        left = step if deadline is None else min(deadline - _monotonic(), step)
        if left <= 0:
            break
        _threads.sleep(left)
    return found


def wait_for_files(rlist, wlist, xlist, timeout=None, /):
    """Wait until one or more file descriptors are ready for some kind of I/O."""
    files = list(rlist), list(wlist), list(xlist)
    if timeout is not None:
        timeout = float(timeout)
        if timeout < 0:
            raise ValueError("timeout must be non-negative")
    found = [[], [], []]

    def check():
        found[:] = _select(*files, 0)
        return any(found)

    _wait(check, timeout, POLL_SECONDS if any(files) else MAX_SLEEP_SECONDS)
    return tuple(found)


class poll:
    """Returns a polling object."""

    __module__ = "select"

    def __init__(self):
        self._poll = _poll()
        self.register, self.modify, self.unregister = self._poll.register, self._poll.modify, self._poll.unregister

    def poll(self, timeout=None, /):
        """Polls the set of registered file descriptors. `timeout` is in milliseconds."""
        seconds = None if timeout is None or timeout < 0 else timeout / 1000
        return _wait(lambda: self._poll.poll(0), seconds, POLL_SECONDS)


wait_for_files.__name__ = wait_for_files.__qualname__ = "select"
wait_for_files.__module__ = "select"
select.select, select.poll = wait_for_files, poll
selectors.SelectSelector._select = staticmethod(wait_for_files)
if hasattr(selectors, "PollSelector"):
    selectors.PollSelector._selector_cls = poll
