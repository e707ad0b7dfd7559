"""Handlers of signals run in the main thread. C Python would call them in the thread that receives the signal."""

import errno
import os
import signal

set_c_handler = signal.signal
get_c_handler = signal.getsignal
_raise_signal = signal.raise_signal
POLL_SECONDS = 0.05

SLICE_SIGNAL = 64
"""The worker sends this signal when a thread has run for some milliseconds."""

_handled = [0]
_pausing = []


class _InMain:
    """A handler for C Python that calls that of the program in the main thread."""

    __slots__ = ("handler",)

    def __init__(self, handler):
        self.handler = handler

    def __call__(self, signalnum, frame):
        call_in(_sched.main, lambda: handle(self.handler, signalnum, frame), frame)


def call_in(thread, call, frame):
    """Calls the handler of a signal in the main thread of a process: now, or as the next that runs."""
    me = _sched.running[0]
    is_own = frame is not None and frame.f_code.co_filename in _sched.OWN_FILES
    if me is thread and not (is_own and _sched.threads):
        call()
        return
    thread.calls.append(call)
    _sched.hurry(thread)
    if not is_own:
        _sched.yield_to(thread)


def _on_slice(_signal, frame):
    if _sched.threads and not (frame is not None and frame.f_code.co_filename in _sched.OWN_FILES):
        try:
            _sched.yield_now()
        except _sched.SwitchError:
            pass  # the thread continues


def handle(handler, signalnum, frame):
    """Calls a handler of the program, and ends `signal.pause`."""
    _handled[0] += 1
    for thread in _pausing:
        _sched.wake(thread)
    handler(signalnum, frame)


def set_handler(signalnum, handler):
    """Replacement for `signal.signal`."""
    thread = _sched.running[0]
    if thread is not thread.process.main:
        raise ValueError("signal only works in main thread of the main interpreter")
    if thread is not _sched.main:
        return store_handler(thread.process, signalnum, handler)
    old = get_handler(signalnum)
    if signalnum == signal.SIGINT and handler is signal.default_int_handler:
        set_c_handler(signalnum, _runner._on_interrupt)
    else:
        set_c_handler(signalnum, _InMain(handler) if callable(handler) else handler)
    return old


def store_handler(process, signalnum, handler):
    """Sets a handler that C Python does not know. Returns the one before."""
    if not callable(handler) and handler not in (signal.SIG_DFL, signal.SIG_IGN):
        raise TypeError("signal handler must be signal.SIG_IGN, signal.SIG_DFL, or a callable object")
    old = signal.getsignal(signalnum)
    process.handlers[signalnum] = handler
    return old


def get_handler(signalnum):
    """Replacement for `signal.getsignal`."""
    process = _procs.current()
    if process is not _procs.root:
        default = signal.default_int_handler if signalnum == signal.SIGINT else signal.SIG_DFL
        return process.handlers.get(signalnum, default)
    handler = get_c_handler(signalnum)
    if type(handler) is _InMain:
        return handler.handler
    return signal.default_int_handler if handler is _runner._on_interrupt else handler


def drop_handlers():
    """Forgets the handlers of the running process."""
    process = _procs.current()
    process.handlers.clear()
    if process is _procs.root:
        for signalnum in range(1, SLICE_SIGNAL):
            if type(get_c_handler(signalnum)) is _InMain:
                set_c_handler(signalnum, signal.SIG_DFL)


def has_default(signalnum):
    """True if the main program does not handle a signal."""
    return get_c_handler(signalnum) == signal.SIG_DFL


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
        raise_signal(signalnum)


def raise_signal(signalnum, /):
    """Send a signal to the executing process."""
    process = _procs.current()
    if process is _procs.root and signalnum not in _procs.ENDING:
        _raise_signal(signalnum)
    else:
        _procs.raise_in(process, signalnum)


for _function in (pause, pthread_kill, raise_signal):
    _function.__module__ = "signal"
    setattr(signal, _function.__name__, _function)
set_c_handler(SLICE_SIGNAL, _on_slice)
