"""Switches between the threads of a program. Each has its own stacks, and one runs at a time."""

import _thread
import collections
import heapq
import itertools
import os
import sys
import time

REQUEST = 1 << 30
RESERVE = 1 << 26
END = 1 << 27
STACK_SHIFT = 20
MAX_NUMBER = (1 << STACK_SHIFT) - 1
POLL_SECONDS = 0.005
IDENT_STEP = 4096

OWN_NAMES = ("scheduler", "locks", "threads", "signals", "bridge", "tools", "event_loop", "namespaces", "processes", "pipes", "descriptors", "commands", "values", "polling", "addresses", "options", "endpoints", "streams", "messages", "outside", "ancillary", "socket_type")
OWN_FILES = frozenset(f"<paddock {name}>" for name in OWN_NAMES)
"""In their code no thread is preempted, and no interrupt raises."""

_fdatasync = os.fdatasync
_fsync = os.fsync
_monotonic = time.monotonic
_getframe = sys._getframe
_set_trace, _set_profile = sys.settrace, sys.setprofile
_order = itertools.count(1)
_numbers = itertools.count(1)


class SwitchError(RuntimeError):
    """The running thread cannot leave its stack, as JavaScript runs on it."""

    __module__ = "_thread"


class Thread:
    """A thread of control of a process. The main thread of the session has the number 0."""

    __slots__ = tuple("number ident function daemon process done woken waits alarm frame joiners calls".split())

    def __init__(self, number, ident, function=None, daemon=False, process=None):
        self.number, self.ident, self.function, self.daemon = number, ident, function, daemon
        self.process = process
        self.done = self.woken = False
        self.waits = self.alarm = self.frame = None
        self.joiners, self.calls = [], []


main = Thread(0, _thread.get_ident())
running = [main]
threads = {}
"""The threads that have started and not ended, beside the main thread, by their number."""
ready = collections.deque()
_abandoned = []
_sleepers = []
_reply_waiters = []
links = [0]
"""Number of connections to the outside, whose packets come from the host."""
_error = [None]
_urgent = collections.deque()
"""Threads that are to do something before all others run."""
_polled = [0.0]


def begin():
    """Drops an interrupt that the previous block did not receive, and wakes threads whose replies will not come."""
    _error[0] = None
    main.calls.clear()
    _wake_reply_waiters()


def start(function, stack, daemon, process=None):
    """Starts a thread of a process. It runs when the running one waits or has run for a while."""
    number = next(_numbers) & MAX_NUMBER
    while number == 0 or number in threads:
        number = next(_numbers) & MAX_NUMBER
    try:
        _fsync(REQUEST | RESERVE | stack << STACK_SHIFT | number)
    except OSError:
        raise RuntimeError("can't start new thread") from None
    thread = threads[number] = Thread(number, IDENT_STEP * (number + 1), function, daemon, process or running[0].process)
    ready.append(thread)
    return thread


def run_thread(number):
    """Runs a new thread. Called by the worker, on the thread's stack. Returns the thread to continue with."""
    thread = threads[number]
    try:
        attend(thread)
        thread.function()
    except BaseException:
        pass  # the report of the thread's own exception failed, or its process has ended
    for stop in (_set_trace, _set_profile):
        try:
            stop(None)  # the functions of the program may raise
        except BaseException:
            pass
    thread.function = None
    thread.done = True
    threads.pop(number, None)
    _first(thread)
    for joiner in thread.joiners:
        wake(joiner)
    following = running[0] = _next_thread()
    _enter_process(thread, following)
    return following.number


def wait(what, deadline=None, reply=False):
    """Blocks the running thread until it is woken. Returns False if the deadline came first."""
    me = running[0]
    if me.process.ended:
        attend(me)
    me.woken, me.waits = False, what
    if deadline is not None:
        me.alarm = next(_order)
        heapq.heappush(_sleepers, (deadline, me.alarm, me))
    if reply:
        _reply_waiters.append(me)
    try:
        while not me.woken:
            thread = _next_thread(me)
            if thread is not me:
                _switch(thread)
            attend(me)
    finally:
        me.waits = None
        if reply and me in _reply_waiters:
            _reply_waiters.remove(me)
        if me in ready:
            ready.remove(me)
        in_time = me.alarm is not None or deadline is None
        me.alarm = None
    return in_time


def wake(thread):
    """Lets a waiting thread continue."""
    if not thread.woken and thread.waits is not None:
        thread.woken = True
        ready.append(thread)


def yield_now():
    """Lets another thread run, if one is ready."""
    me = running[0]
    _wake_due(is_busy=True)
    _commands.run_slice()
    if ready or _urgent:
        thread = _first(_urgent[0]) if _urgent else ready.popleft()
        ready.append(me)
        try:
            _switch(thread)
        except SwitchError:
            ready.remove(me)
            raise
        if thread is me:
            ready.remove(me)
    attend(me)


def run_urgent():
    """Lets the threads run that do not wait for their turn, such as those of processes that end."""
    while _urgent:
        yield_now()


def yield_to(thread):
    """Lets a thread run, such as the main thread, which handles signals."""
    me = running[0]
    if me is not thread:
        ready.append(me)
        _switch(_first(thread))
        attend(me)


def sleep_until(deadline, what="time"):
    while _monotonic() < deadline:
        wait(what, deadline)


def hold_interrupt(frame):
    """Gives an interrupt to the main thread. Returns False if it is to be raised now."""
    me = running[0]
    is_own = frame is not None and frame.f_code.co_filename in OWN_FILES
    if me is main and not (is_own and threads):
        return False
    _error[0] = KeyboardInterrupt()
    if not is_own:
        yield_to(main)
    return True


def hurry(thread):
    """Lets a thread run before all others."""
    if thread not in _urgent and not thread.done:
        _urgent.append(thread)


def end(thread):
    """Ends a thread that is not running, without running its code again."""
    threads.pop(thread.number, None)
    thread.done = True
    thread.waits = thread.alarm = None
    for queue in (ready, _urgent, _reply_waiters):
        if thread in queue:
            queue.remove(thread)
    _fsync(REQUEST | END | thread.number)
    for joiner in thread.joiners:
        wake(joiner)


def abandon(me):
    """Leaves the running thread for good. The next one ends it."""
    threads.pop(me.number, None)
    me.done = True
    _abandoned.append(me)
    for joiner in me.joiners:
        wake(joiner)
    _switch(_next_thread())


def _switch(thread):
    """Leaves the running thread for another. Returns when a thread switches back."""
    me = running[0]
    if thread is me:
        return
    word = REQUEST | thread.number
    try:
        _fsync(word)
    except OSError:
        ready.appendleft(thread)
        raise SwitchError("cannot run another thread inside a callback of ctypes") from None
    me.frame = _getframe(1)
    running[0] = thread
    _enter_process(me, thread)
    _fdatasync(word)
    me.frame = None


def _enter_process(old, new):
    """Brings the state of the next thread's process into place."""
    if new.process is not old.process:
        _names.switch(old.process, new.process)


def _next_thread(me=None):
    """Returns the thread to run next, which may be `me`. Waits until there is one."""
    while True:
        if _error[0] is not None:
            return _first(main)
        if _urgent:
            return _first(_urgent[0])
        _wake_due()
        if ready:
            _commands.run_slice()
            return ready.popleft()
        if _commands.live and (_commands.waiting or _sleepers or _alarms.is_armed()):
            _commands.wait_for_news()
        elif _reply_waiters or links[0]:
            _tools._collect(_idle_ms())
            _wake_reply_waiters()
        elif _sleepers or _alarms.is_armed():
            _bridge.pause(_idle_ms())
        else:
            _error[0] = RuntimeError(_deadlock_text())


def _first(thread):
    """Returns a thread, which waits no longer for its turn."""
    for queue in (ready, _urgent):
        if thread in queue:
            queue.remove(thread)
    return thread


def attend(me):
    """Does what waits for the running thread: handlers of signals, and exceptions."""
    while _abandoned:
        end(_abandoned.pop())
    if me.process.ended:
        _procs.leave(me)
    while me.calls:
        me.calls.pop(0)()
    if me is main and _error[0] is not None:
        error, _error[0] = _error[0], None
        raise error


def _idle_ms():
    if not _sleepers:
        return 3_600_000.0
    return min(max(0.0, (_sleepers[0][0] - _monotonic()) * 1000), 3_600_000.0)


def _wake_due(is_busy=False):
    """Wakes threads whose deadline has passed and, while a thread can run, those that wait for replies of the host."""
    if _sleepers:
        now = _monotonic()
        while _sleepers and (_sleepers[0][0] <= now or _sleepers[0][2].alarm != _sleepers[0][1]):
            _, alarm, thread = heapq.heappop(_sleepers)
            if thread.alarm == alarm:
                thread.alarm = None
                wake(thread)
    if (_reply_waiters or links[0]) and (is_busy or ready) and _monotonic() - _polled[0] > POLL_SECONDS:
        _tools._collect(0.0)
        _polled[0] = _monotonic()
        _wake_reply_waiters()


def _wake_reply_waiters():
    for thread in _reply_waiters:
        wake(thread)


def _deadlock_text():
    waiting = [main, *threads.values()]
    texts = (f"{_threads.name_of(thread)} waits for {thread.waits}" for thread in waiting[:16] if thread.waits)
    return "deadlock: no thread can continue: " + "; ".join(texts)
