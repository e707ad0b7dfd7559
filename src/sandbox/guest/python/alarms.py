"""`signal.alarm` and the real-time timer. The worker sends SIGALRM when the timer is due."""

import math
import operator
import signal
import struct
import time

EXIT_CODE = 128 + signal.SIGALRM
ITIMER_REAL = 0
EINVAL = 28

_c_signal, _c_getsignal = _signals.set_handler, _signals.get_handler
_monotonic = time.monotonic
_timer = [0.0, 0.0]
_handler = [signal.SIG_DFL]


def begin():
    """Forgets the timer of the previous block, which the worker has stopped."""
    _timer[:] = 0.0, 0.0


def ms_left(ms):
    """Returns `ms`, or the milliseconds to the alarm if that comes first."""
    return min(ms, max(0.0, (_timer[0] - _monotonic()) * 1000)) if _timer[0] else ms


def is_armed():
    """True if an alarm is to arrive."""
    return _timer[0] > 0


def setitimer(which, seconds, interval=0.0, /):
    """Sets given itimer. Only ITIMER_REAL exists here."""
    seconds, interval = float(seconds), float(interval)
    old = getitimer(which)
    if not (0 <= seconds < 1e9 and 0 <= interval < 1e9):
        raise signal.ItimerError(EINVAL, "Invalid argument")
    _timer[:] = (_monotonic() + seconds, interval) if seconds else (0.0, 0.0)
    _bridge.set_alarm(seconds * 1000, interval * 1000)
    return old


def getitimer(which, /):
    """Returns current value of given itimer."""
    if operator.index(which) != ITIMER_REAL:
        raise signal.ItimerError(EINVAL, "Invalid argument")
    return (max(_timer[0] - _monotonic(), 1e-6), _timer[1]) if _timer[0] else (0.0, 0.0)


def alarm(seconds, /):
    """Arrange for SIGALRM to arrive after the given number of seconds."""
    return math.ceil(setitimer(ITIMER_REAL, operator.index(seconds))[0])


def set_handler(signalnum, handler):
    """Replacement for `signal.signal`."""
    if signalnum != signal.SIGALRM or _sched.running[0] is not _sched.main:
        return _c_signal(signalnum, handler)
    if not callable(handler) and handler not in (signal.SIG_DFL, signal.SIG_IGN):
        raise TypeError("signal handler must be signal.SIG_IGN, signal.SIG_DFL, or a callable object")
    old, _handler[0] = _handler[0], handler
    return old


def get_handler(signalnum):
    """Replacement for `signal.getsignal`."""
    return _handler[0] if signalnum == signal.SIGALRM else _c_getsignal(signalnum)


def _on_alarm(_signal, frame):
    if _timer[0] and _timer[0] <= (now := _monotonic()):
        _timer[0] = now + _timer[1] if _timer[1] else 0.0
    _sched.call_in_main(lambda: _call_handler(frame), frame)


def _call_handler(frame):
    handler = _handler[0]
    if handler == signal.SIG_DFL:
        raise SystemExit(EXIT_CODE)
    if handler != signal.SIG_IGN:
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
