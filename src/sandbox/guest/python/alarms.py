"""`signal.alarm` and the real-time timer of each process. The worker sends SIGALRM when one is due."""

import math
import operator
import signal
import struct
import time

EXIT_CODE = 128 + signal.SIGALRM
ITIMER_REAL = 0
EINVAL = 28
EARLY_SECONDS = 0.002
"""The worker's clock may be so much ahead."""

_c_signal, _c_getsignal = _signals.set_handler, _signals.get_handler
_monotonic = time.monotonic
_armed = [0.0]
"""The time of the next alarm of any process; 0.0 if there is none."""


def begin():
    """Forgets the timer of the previous block. The worker has stopped all."""
    _procs.root.timer = 0.0, 0.0
    _armed[0] = 0.0
    if len(_procs.table) > 1:
        _arm()


def ms_left(ms):
    """Returns `ms`, or the milliseconds to the next alarm if that comes first."""
    return min(ms, max(0.0, (_armed[0] - _monotonic()) * 1000)) if _armed[0] else ms


def _arm():
    """Has the worker send a signal at the time of the next alarm."""
    due = min((process.timer[0] for process in _procs.table.values() if process.timer[0]), default=0.0)
    if due or _armed[0]:
        _armed[0] = due
        _bridge.set_alarm(max((due - _monotonic()) * 1000, 1e-3) if due else 0.0)


def is_armed():
    """True if an alarm is to arrive."""
    return _armed[0] > 0


def setitimer(which, seconds, interval=0.0, /):
    """Sets given itimer. Only ITIMER_REAL exists here."""
    seconds, interval = float(seconds), float(interval)
    old = getitimer(which)
    if not (0 <= seconds < 1e9 and 0 <= interval < 1e9):
        raise signal.ItimerError(EINVAL, "Invalid argument")
    _procs.current().timer = (_monotonic() + seconds, interval) if seconds else (0.0, 0.0)
    _arm()
    return old


def getitimer(which, /):
    """Returns current value of given itimer."""
    if operator.index(which) != ITIMER_REAL:
        raise signal.ItimerError(EINVAL, "Invalid argument")
    due, interval = _procs.current().timer
    return (max(due - _monotonic(), 1e-6), interval) if due else (0.0, 0.0)


def alarm(seconds, /):
    """Arrange for SIGALRM to arrive after the given number of seconds."""
    return math.ceil(setitimer(ITIMER_REAL, operator.index(seconds))[0])


def set_handler(signalnum, handler):
    """Replacement for `signal.signal`."""
    thread = _sched.running[0]
    if signalnum != signal.SIGALRM or thread is not thread.process.main:
        return _c_signal(signalnum, handler)
    return _signals.store_handler(thread.process, signalnum, handler)


def get_handler(signalnum):
    """Replacement for `signal.getsignal`."""
    if signalnum != signal.SIGALRM:
        return _c_getsignal(signalnum)
    return _procs.current().handlers.get(signalnum, signal.SIG_DFL)


def _on_alarm(_signal, frame):
    now, running = _monotonic(), _procs.current()
    due = [process for process in _procs.table.values() if 0.0 < process.timer[0] <= now]
    for process in due:
        interval = process.timer[1]
        process.timer = (now + interval, interval) if interval else (0.0, 0.0)
    _arm()
    if not due and not 0.0 < _armed[0] - now < EARLY_SECONDS:
        due = [_procs.root]  # the program sent the signal
    for process in sorted(due, key=lambda process: process is running):  # its handler may raise
        _deliver(process, frame)


def _deliver(process, frame):
    _signals.call_in(process.main, lambda: _call_handler(process, frame), frame)


def _call_handler(process, frame):
    handler = process.handlers.get(signal.SIGALRM, signal.SIG_DFL)
    if handler == signal.SIG_DFL:
        if process is _procs.root:
            raise SystemExit(EXIT_CODE)
        _procs.terminate(process, -signal.SIGALRM)
    elif handler != signal.SIG_IGN:
        _signals.handle(handler, signal.SIGALRM, frame)


_signals.set_c_handler(signal.SIGALRM, _on_alarm)
if not hasattr(signal, "ItimerError"):
    signal.ItimerError = OSError
signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF = ITIMER_REAL, 1, 2
for name, function in {
    "alarm": alarm,
    "setitimer": setitimer,
    "getitimer": getitimer,
    "signal": set_handler,
    "getsignal": get_handler,
}.items():
    function.__name__ = function.__qualname__ = name
    function.__module__ = "signal"
    setattr(signal, name, function)
