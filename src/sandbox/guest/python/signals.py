"""Handlers of signals run in the main thread. C Python would call them in the thread that receives the signal."""

import errno
import os
import signal

set_c_handler = signal.signal
_get_c_handler = signal.getsignal
_raise_signal = signal.raise_signal
POLL_SECONDS = 0.05

_handled = [0]
_pausing = []


class _InMain:
    """A handler for C Python that calls that of the program in the main thread."""

    __slots__ = ("handler",)

    def __init__(self, handler):
        self.handler = handler

    def __call__(self, signalnum, frame):
        _sched.call_in_main(lambda: handle(self.handler, signalnum, frame), frame)


def handle(handler, signalnum, frame):
    """Calls a handler of the program, and ends `signal.pause`."""
    _handled[0] += 1
    for thread in _pausing:
        _sched.wake(thread)
    handler(signalnum, frame)


def set_handler(signalnum, handler):
    """Replacement for `signal.signal`."""
    if _sched.running[0] is not _sched.main:
        raise ValueError("signal only works in main thread of the main interpreter")
    old = get_handler(signalnum)
    if signalnum == signal.SIGINT and handler is signal.default_int_handler:
        set_c_handler(signalnum, _runner._on_interrupt)
    else:
        set_c_handler(signalnum, _InMain(handler) if callable(handler) else handler)
    return old


def get_handler(signalnum):
    """Replacement for `signal.getsignal`."""
    handler = _get_c_handler(signalnum)
    if type(handler) is _InMain:
        return handler.handler
    return signal.default_int_handler if handler is _runner._on_interrupt else handler


def pause():
    """Wait until a signal arrives."""
    me, handled = _sched.running[0], _handled[0]
    _pausing.append(me)
    try:
        while _handled[0] == handled:
            _sched.wait("a signal", _sched._monotonic() + POLL_SECONDS)
    finally:
        _pausing.remove(me)


def pthread_kill(thread_id, signalnum, /):
    """Send a signal to a thread."""
    if thread_id not in [_sched.main.ident, *(thread.ident for thread in _sched.threads.values())]:
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
    if signalnum:
        _raise_signal(signalnum)


for _function in (pause, pthread_kill):
    _function.__module__ = "signal"
    setattr(signal, _function.__name__, _function)
