"""Replaces those parts of `_thread` and `threading` that need threads of the operating system, beside the locks."""

import _queue
import _thread
import collections
import functools
import logging
import os
import reprlib
import signal
import sys
import threading
import time
import traceback

FEW_THREADS = 16
SMALL_STACK, STACK_UNIT, MAX_STACK = 0, 512 * 1024, 33
"""A C stack has 128 KiB, or a multiple of the unit."""

_UnraisableHookArgs = collections.namedtuple(
    "UnraisableHookArgs", ("exc_type", "exc_value", "exc_traceback", "err_msg", "object")
)
_monotonic = time.monotonic
_sleep_alone = time.sleep
_interrupt_main = _thread.interrupt_main
_stack_size = [0]
_used = [False]
_process_id = os.getpid()


class _ThreadHandle:
    """A thread that others can wait for."""

    def __init__(self):
        self.ident, self._thread, self._done = 0, None, False

    def is_done(self):
        return self._done or (self._thread is not None and self._thread.done)

    def _set_done(self):
        if self._thread is None:
            raise RuntimeError("thread not started")
        self._done = self._thread is not _main_of_process()

    def join(self, timeout=None):
        thread, me = self._thread, _sched.running[0]
        if thread is None:
            raise RuntimeError("thread not started")
        if thread is me:
            raise RuntimeError("Cannot join current thread")
        deadline = _locks.deadline_of(timeout)
        while not self.is_done():
            thread.joiners.append(me)
            try:
                in_time = _sched.wait(f"the end of {name_of(thread)}", deadline)
            finally:
                if me in thread.joiners:
                    thread.joiners.remove(me)
            if not in_time:
                return


def _make_thread_handle(ident):
    handle = _ThreadHandle()
    handle.ident = ident
    main = _main_of_process()
    handle._thread = main if ident == main.ident else _sched.running[0]
    return handle


def _main_of_process():
    """Returns the main thread of the running process."""
    return _sched.running[0].process.main


def name_of(thread):
    """Returns a thread's name for messages."""
    known = threading._active.get(thread.ident)
    if thread.process.main is thread is not _sched.main:
        return f"process {thread.process.pid}"
    return "MainThread" if thread is _sched.main else getattr(known, "_name", f"Thread {thread.ident}")


def get_ident():
    """Return a non-zero integer that uniquely identifies the current thread."""
    return _sched.running[0].ident


def get_native_id():
    """Return a non-negative integer identifying the thread as reported by the OS: here numbers from that of the process."""
    return _process_id + _sched.running[0].number


def stack_size(size=0, /):
    """Return the thread stack size used when creating new threads."""
    if size < 0:
        raise ValueError("size must be 0 or a positive value")
    if 0 < size < 32768:
        raise ValueError(f"size not valid: {size} bytes")
    old, _stack_size[0] = _stack_size[0], size
    return old


def _stack_units():
    """Returns the size of a new C stack: an eighth of the requested size, as the rest is on V8's stack."""
    if _stack_size[0]:
        return min(_stack_size[0] // 8 // STACK_UNIT, MAX_STACK)
    return 2 if len(_sched.threads) < FEW_THREADS else SMALL_STACK


def start_joinable_thread(function, handle=None, daemon=True):
    """Starts a thread and returns its handle."""
    if not callable(function):
        raise TypeError("thread function must be callable")
    handle = _ThreadHandle() if handle is None else handle
    if handle._thread is not None:
        raise RuntimeError("thread already started")
    _used[0] = True
    handle._thread = _sched.start(functools.partial(_run, function), _stack_units(), daemon)
    handle.ident = handle._thread.ident
    return handle


def _run(function):
    try:
        function()
    except SystemExit:
        pass
    except BaseException as error:
        text = f"Exception ignored in thread started by {getattr(function, 'func', function)!r}"
        if sys.unraisablehook is sys.__unraisablehook__:
            sys.stderr.write(f"{text}:\n" + "".join(traceback.format_exception(error)))
        else:
            sys.unraisablehook(_UnraisableHookArgs(type(error), error, error.__traceback__, text, None))


def start_new_thread(function, args, kwargs={}, /):
    """Start a new thread and return its identifier."""
    if not callable(function):
        raise TypeError("first arg must be callable")
    if not isinstance(args, tuple):
        raise TypeError("2nd arg must be a tuple")
    if not isinstance(kwargs, dict):
        raise TypeError("optional 3rd arg must be a dictionary")
    return start_joinable_thread(functools.partial(function, *args, **kwargs)).ident


def sleep(seconds, /):
    """Replacement for `time.sleep` that lets other threads run."""
    if not _sched.threads or not seconds >= 0:
        return _sleep_alone(seconds)
    if seconds == 0:
        return _sched.yield_now()
    _sched.sleep_until(_monotonic() + seconds)


def interrupt_main(signum=signal.SIGINT, /):
    """Simulate the arrival of the given signal in the main thread."""
    main = _main_of_process()
    if main is _sched.main:
        _interrupt_main(signum)
    else:
        _procs.kill(main.process.pid, signum)
    _sched.yield_to(main)


def _join_all(earlier=()):
    """Waits for the threads that are no daemons."""
    while waiting := [each for each in _started_after(earlier) if not each.daemon]:
        handle = _ThreadHandle()
        handle._thread = waiting[0]
        handle.join()


def _started_after(earlier):
    """Returns the threads of the running process, without its main thread."""
    process = _sched.running[0].process
    threads = [thread for number, thread in _sched.threads.items() if number not in earlier]
    return [thread for thread in threads if thread.process is process and thread is not process.main]


def finish(earlier):
    """Ends a program: waits for its threads, and ends the daemons. `earlier` has the numbers of all other threads."""
    if not _used[0]:
        return
    end_threads(earlier)


def end_threads(earlier=()):
    """Waits for the threads of the running process, and ends the daemons."""
    for call in reversed(threading._threading_atexits):
        call()
    _join_all(earlier)
    if pool := sys.modules.get("concurrent.futures.thread"):
        pool._shutdown = False  # a later program may use it
    for thread in _started_after(earlier):
        _sched.end(thread)


def _current_frames():
    process = _sched.running[0].process
    threads = [thread for thread in (_sched.main, *_sched.threads.values()) if thread.process is process]
    frames = {thread.ident: thread.frame for thread in threads if thread.frame}
    for ident, frame in frames.items():
        while frame.f_back is not None and frame.f_code.co_filename in _sched.OWN_FILES:
            frame = frame.f_back
        frames[ident] = frame
    return {**frames, get_ident(): sys._getframe(1)}


def _add_native_ids():
    """Adds what `threading` has where the operating system numbers threads."""

    def set_native_id(thread):
        thread._native_id = get_native_id()

    threading._HAVE_THREAD_NATIVE_ID = True
    threading.get_native_id = get_native_id
    threading.__all__.append("get_native_id")
    threading.Thread._set_native_id = set_native_id
    threading.Thread.native_id = property(
        lambda thread: thread._native_id, doc="Native integral thread ID of this thread, or None if it has not been started."
    )


def _replace_locks(kinds):
    """Replaces locks that modules of the image have made for themselves: a wait for a lock of C would not end."""
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if type(value) in kinds:
                setattr(module, name, kinds[type(value)]())


def _install():
    lock, RLock = _locks.lock, _locks.RLock
    _replace_locks({_thread.lock: lock, _thread.RLock: RLock})
    names = {
        "allocate_lock": lock,
        "LockType": lock,
        "lock": lock,
        "RLock": RLock,
        "get_ident": get_ident,
        "get_native_id": get_native_id,
        "_get_main_thread_ident": lambda: _main_of_process().ident,
        "start_joinable_thread": start_joinable_thread,
        "start_new_thread": start_new_thread,
        "start_new": start_new_thread,
        "stack_size": stack_size,
        "interrupt_main": interrupt_main,
        "_count": lambda: len(_started_after(())),
        "_ThreadHandle": _ThreadHandle,
        "_make_thread_handle": _make_thread_handle,
        "_shutdown": _join_all,
    }
    for value in names.values():
        value.__module__ = "_thread"
    vars(_thread).update(names)
    old_ident = threading._main_thread._ident
    for name, value in names.items():
        for own in (name, f"_{name}"):
            if own in vars(threading):
                setattr(threading, own, value)
    threading.Lock, threading._LockType, threading._CRLock = lock, lock, RLock
    threading._thread_shutdown = _join_all
    threading._active_limbo_lock = RLock()
    threading._main_thread._ident = _sched.main.ident
    _add_native_ids()
    threading._main_thread._native_id = get_native_id()
    threading._main_thread._os_thread_handle = _make_thread_handle(_sched.main.ident)
    threading._active[_sched.main.ident] = threading._active.pop(old_ident)
    reprlib.get_ident = get_ident
    _queue.SimpleQueue = _locks.SimpleQueue
    logging._lock = RLock()
    time.sleep = sleep
    sleep.__module__, sleep.__self__ = "time", time
    sys._current_frames = _current_frames


_install()
