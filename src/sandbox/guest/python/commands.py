"""Runs commands of the shell in processes. The worker runs them while Python has left its stack."""

import errno
import itertools
import json
import os
import signal
import time
import types

REQUEST = 1 << 30
COMMANDS = 1 << 28
SLICE_SECONDS = 0.005
MAX_COMMANDS = 16
MAX_DATA_BYTES = 32 * 2**20
NO_INPUT = frozenset(
    "[ basename chmod clear cp date dirname du echo env expr false find hostname id ln ls mkdir mktemp mv printenv printf "
    "pwd readlink realpath rm rmdir seq sleep stat test timeout touch tree true uname which whoami yes".split()
)
"""Commands that do not read their standard input, and so need not wait for its end."""

SIGNAL_BASE = 128
CANNOT_START = 254

live = set()
"""The numbers of the commands that have started and not ended."""

waiting = {}
"""The threads that wait for an event of a command, by its number."""

_owners = set()
"""The processes of these commands."""

_room = types.SimpleNamespace(waiters=[])
_numbers = itertools.count(1)
_sliced_at = [0.0]
_loads = json.loads
_getcwd, _chdir = os.getcwd, os.chdir
_fdatasync, _fsync = os.fdatasync, os.fsync
_monotonic = time.monotonic


class _Data(_pipes.ReadyEnd):
    """Bytes that a program of a command reads from its standard input."""

    __slots__ = ("data", "uses")

    def __init__(self, data):
        self.data, self.uses = data, 1

    def read(self, size):
        piece, self.data = self.data[:size], self.data[size:]
        return piece

    def write(self, data):
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    def release(self):
        self.uses -= 1


class _Captured(_pipes.ReadyEnd):
    """Output of a program that another command of the shell takes."""

    __slots__ = ("data", "uses")

    def __init__(self):
        self.data, self.uses = bytearray(), 1

    def read(self, size):
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    def write(self, data):
        view = memoryview(data).cast("B")
        if len(self.data) + len(view) > MAX_DATA_BYTES:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        self.data += view
        return len(view)

    def release(self):
        self.uses -= 1


def is_available():
    """True if the profile has a shell."""
    return _bridge.has_shell()


def _await_room():
    """
    Waits until another command may run. A command that runs inside another does not wait, as that would not end: it
    raises BlockingIOError.
    """
    me, process = _procs.current(), _procs.current().parent
    while process is not None and process not in _owners:
        process = process.parent
    if process is None:
        _procs.wait_until(lambda: len(live) < MAX_COMMANDS, [_room], "the end of another command")
    elif len(live) >= MAX_COMMANDS:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    _owners.add(me)


def run(script, args, env, reads_input):
    """Runs a command in the running process, whose streams, directory and environment it has. Returns its exit code."""
    number, me = next(_numbers) & 0xFFFFFFFF, _procs.current()
    try:
        data = _read_input() if reads_input else b""
        _await_room()
        live.add(number)
        _bridge.start_command(number, [script, _getcwd(), *args], env, data)
        event = b""
        while True:
            event = event or _next_event(number)
            kind, contents = event[:1], event[1:]
            event = b""
            if kind == b"X":
                return contents[0]
            if kind == b"P":
                event = _run_program(number, _loads(contents))
            elif kind != b"Q":  # the end of a program that has ended
                _write(1 if kind == b"O" else 2, contents)
    except BrokenPipeError:
        return -signal.SIGPIPE
    except KeyboardInterrupt:
        return -signal.SIGINT
    except OSError as error:
        _write(2, f"sh: {error.strerror}\n".encode())
        return CANNOT_START if isinstance(error, BlockingIOError) else 1
    finally:
        _owners.discard(me)
        live.discard(number)
        _bridge.kill_command(number)
        _procs.notify(_room)


def _read_input():
    pieces, size = [], 0
    while piece := _descriptors.read(0, 65536):
        size += len(piece)
        if size > MAX_DATA_BYTES:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        pieces.append(piece)
    return b"".join(pieces)


def _write(fd, data):
    view = memoryview(data)
    while view:
        view = view[_descriptors.write(fd, view) :]


def _next_event(number, process=None):
    """Waits for the next event of a command, and returns it. If a process ends before, returns an empty one."""
    while not (event := _bridge.next_event(number)) and not (process and process.ended):
        me = waiting[number] = _sched.running[0]
        if process:
            process.waiters.append(me)
        try:
            _sched.wait("a command of the shell")
        finally:
            waiting.pop(number, None)
            if process and me in process.waiters:
                process.waiters.remove(me)
    return event


def _run_program(number, request):
    """
    Runs a Python program of a command in a process of its own. Returns the event that ended it: a command such as
    `timeout` goes on without its program.
    """
    route = request.get("route")
    outputs = _Captured(), _Captured()
    if route:
        ends = {fd: _pipes.end_of(source) for fd, source in ((1, 1), (2, 1 if route == "stdout" else 2))}
    else:
        ends = dict(zip((1, 2), outputs))
    ends[0] = _Data(request["stdin"].encode("latin-1"))
    env = request["env"]

    def body():
        _chdir(request["cwd"])
        return _programs.run_child(request["argv"], env)

    pid = status = None
    event = b""
    try:
        pid = _procs.spawn(body, fds=ends)
        process = _procs.table[pid]
        event = _next_event(number, process)
        if not process.ended:
            _procs.kill(pid, signal.SIGKILL)
        status = _procs.waitpid(pid, 0)[1]
        code = status >> 8 if status >= 0 else SIGNAL_BASE - status
    except BlockingIOError as error:
        outputs[1].data[:] = f"python: {error.strerror}\n".encode()
        code = CANNOT_START
    finally:
        if pid is not None and status is None:
            _procs.kill(pid, signal.SIGKILL)
    _bridge.end_program(number, request["program"], code, *map(bytes, (each.data for each in outputs)))
    return event


def wait(ms, is_slice=False):
    """Lets commands run for at most `ms`, until one has news. A slice also ends when all of them wait."""
    try:
        _fsync(REQUEST | COMMANDS)
    except OSError:
        raise _sched.SwitchError("cannot run a command of the shell inside a callback of ctypes") from None
    _bridge.set_command_wait(ms, is_slice)
    _fdatasync(REQUEST | COMMANDS)
    _sliced_at[0] = _monotonic()
    for number in _bridge.take_news():
        if thread := waiting.get(number):
            _sched.wake(thread)


def wait_for_news():
    """Lets commands run while no thread of Python can."""
    if not _sched._reply_waiters and not _sched.links[0]:
        return wait(_sched._idle_ms())
    wait(_sched.POLL_SECONDS * 1000)
    _tools._collect(0.0)
    _sched._wake_reply_waiters()


def run_slice():
    """Lets commands run from time to time while threads of Python compute."""
    if live and _monotonic() - _sliced_at[0] > SLICE_SECONDS:
        wait(SLICE_SECONDS * 1000, True)
