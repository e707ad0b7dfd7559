"""Processes of a program. Each is a thread with a state of its own, which is brought into place when it runs."""

import errno
import io
import itertools
import os
import random
import signal
import sys
import threading
import weakref

MAX_PROCESSES = 128
MAX_LEAVES = 64
"""A process that ends is unwound by exceptions. After so many that its code caught, its threads are abandoned."""

KILLED_TURNS = 8

STACK_UNITS, FEW_PROCESSES = 4, 8
"""Size of the C stack of a process, and of how many."""

FIRST_PID = os.getpid()
IGNORED = (signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH)

ENDING = (signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM)
"""Signals that end the main program, with its exit functions, if it does not handle them."""

EXIT_BASE = 128

_os_kill, _os_exit = os.kill, os._exit
_getppid = os.getppid
_numbers = itertools.count(FIRST_PID + 1)


class ProcessEnded(SystemExit):
    """The process of the running thread has ended."""


class Process:
    """A process, or the session's main program."""

    __slots__ = (
        "pid",
        "parent",
        "main",
        "status",
        "ended",
        "leaves",
        "waiters",
        "state",
        "tracked",
        "handlers",
        "timer",
        "fds",
        "exit_functions",
        "source",
    )

    def __init__(self, pid, parent):
        self.pid, self.parent = pid, parent
        self.main = self.status = self.state = self.source = None
        self.ended, self.leaves = False, 0
        self.waiters, self.tracked, self.exit_functions = [], [], []
        self.handlers, self.timer, self.fds = {}, (0.0, 0.0), {}

    def forget_shared(self):
        """Ends the tracking of what a process shares with the one that forked it, when its last thread has ended."""
        if self.tracked and self.tracked[0] in self.parent.tracked:
            self.parent.tracked.remove(self.tracked[0])

    def has_threads(self):
        return self is root or any(thread.process is self for thread in _sched.threads.values())


class _NullText(io.TextIOBase):
    """Takes the output of a process that has ended."""

    def write(self, text):
        return len(text)


root = Process(FIRST_PID, None)
root.main = _sched.main
_sched.main.process = root
table = {root.pid: root}
"""All processes that run or were not waited for, by their number."""


shared = weakref.WeakValueDictionary()
"""Objects that processes share, by a number or name that one may send to another."""


def current():
    return _sched.running[0].process


def spawn(body, fork=None, fds=None):
    """
    Starts a process, whose exit code `body` returns. `fork` has the objects that it shares with its parent, beside
    the modules; None if it shares nothing. Returns its number.
    """
    parent = current()
    _sched.run_urgent()
    live = sum(not process.ended for process in table.values())
    if live > MAX_PROCESSES:
        for end in (fds or {}).values():
            end.release()
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    process = Process(next(_numbers), parent)
    if fork is not None:
        part = _names.find_shared(fork)
        parent.tracked.append(part)
        process.tracked.append(part)
        process.handlers = dict(parent.handlers)
    process.state = _names.capture(parent.tracked)
    process.fds = _pipes.inherit(parent.fds) if fds is None else fds
    stack = STACK_UNITS if live < FEW_PROCESSES else _threads._stack_units()
    try:
        process.main = _sched.start(lambda: _run(process, body), stack, False, process)
    except RuntimeError:
        _pipes.close_all(process)
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None
    table[process.pid] = process
    return process.pid


def _run(process, body):
    """Runs a process, on its main thread and in its state."""
    code = 1
    try:
        _begin_threads()
        generator = random.Random()
        names = [name for name, value in vars(random).items() if getattr(value, "__self__", None) is random._inst]
        vars(random).update({name: getattr(generator, name) for name in names}, _inst=generator)
        code = body()
    except ProcessEnded:
        pass
    finally:
        finish(process, code)


def _begin_threads():
    """Makes the running thread the main one of its process."""
    threading._active_limbo_lock = _locks.RLock()
    threading._active.clear()
    threading._limbo.clear()
    threading._main_thread = threading._MainThread()


def finish(process, status):
    """Records the end of a process. Its other threads end when they run next."""
    if not process.ended:
        process.ended, process.status = True, status
    process.timer = (0.0, 0.0)
    _pipes.close_all(process)
    for thread in list(_sched.threads.values()):
        if thread.process is process and thread is not _sched.running[0]:
            _sched.hurry(thread)
    notify(process)


def terminate(process, status):
    """Ends a process from outside or inside. The code of its threads does not continue."""
    if process.ended or process is root:
        return
    process.ended, process.status = True, status
    sink = _NullText()
    names = vars(sys)
    if process.state is not None:
        names = next(copy for each, copy in process.state.modules if each is names)
    names.update(stdout=sink, stderr=sink, __stdout__=sink, __stderr__=sink)
    finish(process, status)
    if process is current():
        leave(_sched.running[0])


def leave(thread):
    """Raises the exception that ends a thread whose process has ended."""
    process = thread.process
    process.leaves += 1
    if process.leaves > MAX_LEAVES and thread is not _sched.main:
        _sched.abandon(thread)
    raise ProcessEnded


def end_killed():
    """
    Lets the threads of processes end that were killed. It waits for none: after some turns, one whose code goes on is
    left to the scheduler.
    """
    for _ in range(KILLED_TURNS):
        killed = [thread for thread in _sched.threads.values() if thread.process.ended]
        if not killed:
            return
        for thread in killed:
            _sched.hurry(thread)
        try:
            _sched.run_urgent()
        except _sched.SwitchError:
            return


def end_all():
    """Ends all processes but the main one, at the end of a program or when it is interrupted."""
    for process in list(table.values()):
        terminate(process, -signal.SIGKILL)
    _sched.run_urgent()
    table.clear()
    table[root.pid] = root
    root.tracked.clear()
    shared.clear()


def notify(waited):
    """Wakes the threads that wait for a process or a pipe."""
    waiters, waited.waiters = waited.waiters, []
    for thread in waiters:
        _sched.wake(thread)


def wait_until(is_ready, objects, what, deadline=None, reply=False):
    """
    Waits until `is_ready` returns a true value, which may change when one of the objects notifies, or a reply of the host
    arrives. Returns it.
    """
    while not (result := is_ready()):
        me = _sched.running[0]
        for each in objects:
            each.waiters.append(me)
        try:
            in_time = _sched.wait(what, deadline, reply)
        finally:
            for each in objects:
                if me in each.waiters:
                    each.waiters.remove(me)
        if not in_time:
            return is_ready()
    return result


def waitpid(pid, options, /):
    """Wait for completion of a given child process."""
    me = current()
    children = [process for process in table.values() if process.parent is me and (pid < 1 or process.pid == pid)]
    if not children:
        raise ChildProcessError(errno.ECHILD, os.strerror(errno.ECHILD))

    def find_ended():
        return next((process for process in children if process.ended), None)

    what = f"the end of process {pid}" if pid > 0 else "the end of a process"
    ended = find_ended() if options & os.WNOHANG else wait_until(find_ended, children, what)
    if ended is None:
        return 0, 0
    end_killed()
    table.pop(ended.pid, None)
    return ended.pid, -ended.status if ended.status < 0 else (ended.status & 0xFF) << 8


def wait():
    """Wait for completion of a child process."""
    return waitpid(-1, 0)


def kill(pid, sig, /):
    """Kill a process with a signal."""
    process = table.get(pid)
    if pid <= 0:
        return _os_kill(pid, sig)
    if process is None:
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
    if sig and not process.ended:
        raise_in(process, sig)


def raise_in(process, sig):
    """Delivers a signal to a process."""
    handler = process.handlers.get(sig, signal.SIG_DFL)
    if process is root:
        if sig in ENDING and _signals.has_default(sig):
            _signals.call_in(process.main, lambda: _exit_by(sig), sys._getframe())
        elif process is current():
            _os_kill(FIRST_PID, sig)
        else:
            _signals.call_in(_sched.main, lambda: _os_kill(FIRST_PID, sig), sys._getframe())
    elif sig in (signal.SIGKILL, signal.SIGSTOP) or not (callable(handler) or handler == signal.SIG_IGN):
        if sig == signal.SIGINT:
            _signals.call_in(process.main, _interrupt, sys._getframe())
        elif sig not in IGNORED:
            terminate(process, -sig)
    elif callable(handler):
        _signals.call_in(process.main, lambda: handler(sig, sys._getframe()), sys._getframe())
    if process is current():
        _sched.attend(_sched.running[0])


def _exit_by(sig):
    raise SystemExit(EXIT_BASE + sig)


def _interrupt():
    raise KeyboardInterrupt


def getpid():
    """Return the current process id."""
    return current().pid


def getppid():
    """Return the parent's process id."""
    parent = current().parent
    return parent.pid if parent else _getppid()


def exit_now(status):
    """Exit to the system with specified status, without normal exit processing."""
    process = current()
    if process is root:
        _os_exit(status)
    terminate(process, status & 0xFF)
