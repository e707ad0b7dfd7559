"""Timers of CPU time (ITIMER_VIRTUAL and ITIMER_PROF), and the timer of `faulthandler`."""

import faulthandler
import operator
import os
import signal
import sys
import time

TIMER_SIGNAL = 63
"""The worker sends this signal when one of these timers is due."""
CPU_TIMERS = {1: 26, 2: 27}
"""The signals of ITIMER_VIRTUAL and ITIMER_PROF."""
EINVAL = 28
MAX_FRAMES = 100

_monotonic, _cpu_time = time.monotonic, time.process_time
_raise_signal, _write, _exit = signal.raise_signal, os.write, os._exit
_set_real, _get_real = signal.setitimer, signal.getitimer
_timers = {which: [0.0, 0.0] for which in CPU_TIMERS}
_watchdog = []


def begin():
    """Forgets the timers of the previous block, which the worker has stopped."""
    for timer in _timers.values():
        timer[:] = 0.0, 0.0
    _watchdog.clear()


def ms_left(ms):
    """Returns `ms`, or the milliseconds to the traceback of `faulthandler` if that comes first."""
    return min(ms, max(0.0, (_watchdog[0] - _monotonic()) * 1000)) if _watchdog else ms


def setitimer(which, seconds, interval=0.0, /):
    """Sets given itimer."""
    which = operator.index(which)
    if which not in CPU_TIMERS:
        return _set_real(which, seconds, interval)
    seconds, interval = float(seconds), float(interval)
    if not (0 <= seconds < 1e9 and 0 <= interval < 1e9):
        raise signal.ItimerError(EINVAL, "Invalid argument")
    old = getitimer(which)
    _timers[which][:] = (_cpu_time() + seconds, interval) if seconds else (0.0, 0.0)
    _arm()
    return old


def getitimer(which, /):
    """Returns current value of given itimer."""
    which = operator.index(which)
    if which not in CPU_TIMERS:
        return _get_real(which)
    due, interval = _timers[which]
    return (max(due - _cpu_time(), 1e-6), interval) if due else (0.0, 0.0)


def _arm():
    """Has the worker send the signal when the next timer is due. 0 stops a clock."""
    cpu_due = min((due for due, _ in _timers.values() if due), default=0.0)
    _bridge.set_timers(
        max((cpu_due - _cpu_time()) * 1000, 1e-3) if cpu_due else 0.0,
        max((_watchdog[0] - _monotonic()) * 1000, 1e-3) if _watchdog else 0.0,
    )


def _on_timer(_signal, frame):
    due = []
    now = _cpu_time()
    for which, timer in _timers.items():
        if timer[0] and timer[0] <= now:
            timer[0] = now + timer[1] if timer[1] else 0.0
            due.append(CPU_TIMERS[which])
    report = list(_watchdog) if _watchdog and _watchdog[0] <= _monotonic() else None
    if report:
        _watchdog[:] = [_monotonic() + report[1], *report[1:]] if report[2] else []
    _arm()
    if report:
        _report_timeout(*report[1:], frame)
    for number in due:
        if signal.getsignal(number) == signal.SIG_DFL:
            raise SystemExit(128 + number)
        _raise_signal(number)


def dump_traceback_later(timeout, repeat=False, file=None, exit=False):
    """Dump the traceback of all threads in timeout seconds, or each timeout seconds if repeat is True."""
    timeout = float(timeout)
    if timeout <= 0:
        raise ValueError("timeout must be greater than 0")
    _watchdog[:] = _monotonic() + timeout, timeout, bool(repeat), _descriptor(file), bool(exit)
    _arm()


def cancel_dump_traceback_later():
    """Cancel the previous call to dump_traceback_later()."""
    _watchdog.clear()
    _arm()


def dump_traceback(file=None, all_threads=True):
    """Dump the traceback of the current thread, or of all threads if all_threads is True, into file."""
    _dump(_descriptor(file), sys._getframe(1), all_threads)


def _report_timeout(timeout, _repeat, descriptor, exits, frame):
    minutes, seconds = divmod(timeout, 60)
    text = f"{int(minutes) // 60}:{int(minutes) % 60:02}:{int(seconds):02}"
    micros = round(timeout * 1e6) % 1000000
    _write(descriptor, f"Timeout ({text}{f'.{micros:06}' if micros else ''})!\n".encode())
    _dump(descriptor, frame, True, "Thread")
    if exits:
        _exit(1)


def _dump(descriptor, frame, all_threads, current="Current thread"):
    me = _threads.get_ident()
    others = [item for item in sys._current_frames().items() if item[0] != me] if all_threads else []
    lines = []
    for ident, at in [*others, (me, frame)]:
        kind = current if ident == me else "Thread"
        lines += [f"{kind} 0x{ident:016x} [python3] (most recent call first):", *_frame_lines(at)]
    _write(descriptor, "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))


def _frame_lines(frame):
    lines = []
    while frame:
        code = frame.f_code
        if not code.co_filename.startswith("<paddock "):
            lines.append(f'  File "{code.co_filename}", line {frame.f_lineno} in {code.co_name}')
        frame = frame.f_back
        if len(lines) == MAX_FRAMES and frame:
            return [*lines, "  ..."]
    return lines


def _descriptor(file):
    file = sys.stderr if file is None else file
    if file is None:
        raise RuntimeError("unable to get sys.stderr")
    if isinstance(file, int):
        return file
    descriptor = file.fileno()
    file.flush()
    return descriptor


_signals.set_c_handler(TIMER_SIGNAL, _on_timer)
for _module, _functions in (
    (signal, (setitimer, getitimer)),
    (faulthandler, (dump_traceback, dump_traceback_later, cancel_dump_traceback_later)),
):
    for _function in _functions:
        _function.__module__ = _module.__name__
        setattr(_module, _function.__name__, _function)
