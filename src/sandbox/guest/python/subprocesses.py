"""`subprocess` and its relatives: runs Python programs, and the shell's commands where there is a shell."""

import errno
import io
import os
import posix
import selectors
import shlex
import subprocess
import sys
import types

PYTHON_NAMES = ("python", "python3", "python3.14")
SHELLS = ("sh", "bash")
SHELL_SYNTAX = frozenset("|&;<>()$`\\*?[]#~=%!{}\n")
NOT_FOUND = 127


class _Selector(selectors._BaseSelectorImpl):
    """Waits for pipes."""

    def select(self, timeout=None):
        fds = _procs.current().fds
        keys = list(self._fd_to_key.values())

        def find_ready():
            return [(key, key.events) for key in keys if _is_ready(fds.get(key.fd), key.events)]

        pipes = [pipe for key in keys if (end := fds.get(key.fd)) for pipe in (end.reads, end.writes) if pipe]
        if timeout is not None and timeout <= 0:
            _sched.yield_now()
            return find_ready()
        deadline = _locks.deadline_of(timeout)
        return _procs.wait_until(find_ready, pipes, "data in a pipe", deadline) or []


def _is_ready(end, events):
    if end is None:
        return True
    if events & selectors.EVENT_READ and end.reads and end.is_readable():
        return True
    return bool(events & selectors.EVENT_WRITE and end.writes and end.is_writable())


def _get_handles(self, stdin, stdout, stderr):
    """Returns the descriptors of the pipes: p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite."""
    p2cread, p2cwrite = _pipes.pipe() if stdin == subprocess.PIPE else (self._child_fd(stdin), -1)
    c2pread, c2pwrite = _pipes.pipe() if stdout == subprocess.PIPE else (-1, self._child_fd(stdout))
    if stderr == subprocess.STDOUT:
        return p2cread, p2cwrite, c2pread, c2pwrite, -1, c2pwrite if c2pwrite != -1 else 1
    errread, errwrite = _pipes.pipe() if stderr == subprocess.PIPE else (-1, self._child_fd(stderr))
    return p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite


def _child_fd(self, stream):
    """Returns the descriptor of a stream that is no pipe, -1 if it is that of the parent."""
    if stream is None:
        return -1
    if stream == subprocess.DEVNULL:
        return self._get_devnull()
    return stream if isinstance(stream, int) else stream.fileno()


def _execute_child(
    self,
    args,
    executable,
    preexec_fn,
    close_fds,
    pass_fds,
    cwd,
    env,
    startupinfo,
    creationflags,
    shell,
    p2cread,
    p2cwrite,
    c2pread,
    c2pwrite,
    errread,
    errwrite,
    *_others,
):
    if isinstance(args, (str, bytes, os.PathLike)):
        if shell and isinstance(args, os.PathLike):
            raise TypeError("path-like args is not allowed when shell is true")
        args = [args]
    args = [os.fsdecode(each) for each in args]
    if shell:
        args = ["/bin/sh" if executable is None else os.fsdecode(executable), "-c", *args]
        executable = None
    env = dict(os.environ) if env is None else {os.fsdecode(key): os.fsdecode(env[key]) for key in env}
    if any("=" in name for name in env):
        raise ValueError("illegal environment variable name")
    try:
        if cwd is not None and not os.path.isdir(cwd):
            code = errno.ENOTDIR if os.path.exists(cwd) else errno.ENOENT
            raise OSError(code, os.strerror(code), cwd)
        body = _program_of(args, args[0] if executable is None else os.fsdecode(executable), env)
        fds = dict(_procs.current().fds)
        given = {0: p2cread, 1: c2pwrite, 2: errwrite}
        ends = {number: _pipes.end_of(fd) for number, fd in given.items() if fd != -1}
        for number in given:
            if number not in ends and number in fds:
                ends[number] = _pipes.end_of(number)

        def run():
            if cwd is not None:
                os.chdir(cwd)
            if preexec_fn is not None:
                preexec_fn()
            return body()

        self.pid = _procs.spawn(run, fds=ends)
        self._child_created = True
    finally:
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)


def _program_of(args, executable, env):
    """Returns a function that runs a command and returns its exit code."""
    name = os.path.basename(executable)
    if executable in (sys.executable, *PYTHON_NAMES) or (name in PYTHON_NAMES and _is_command(executable)):
        return lambda: _programs.run_child(args[1:], env)
    if name in SHELLS and _is_command(executable) and len(args) > 2 and args[1] == "-c":
        return lambda: _run_line(args[2], env)
    if os.path.isfile(executable) and (program := _read_shebang(executable)):
        return lambda: _programs.run_child([*program, *args[1:]], env)
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), executable)


def _is_command(path):
    return os.path.dirname(path) in ("", "/bin", "/usr/bin", "/usr/local/bin")


def _read_shebang(path):
    """Returns the arguments of `python` that run a script, None if it is no Python program."""
    if "/" not in path:
        return None
    if not os.stat(path).st_mode & 0o111:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    with open(path, "rb") as file:
        line = file.readline(128)
    if not line.startswith(b"#!"):
        raise OSError(errno.ENOEXEC, os.strerror(errno.ENOEXEC), path)
    return [path] if b"python" in line else None


def _run_line(line, env):
    """Runs a command line without a shell: a single Python program."""
    try:
        words = shlex.split(line) if not SHELL_SYNTAX & set(line) or "python" in line.split(" ")[0] else []
    except ValueError:
        words = []
    name = words[0] if words else (line.split() or [""])[0]
    if words and (name == sys.executable or name in PYTHON_NAMES):
        return _programs.run_child(words[1:], env)
    if name in ("exit", "true", "false", ":", ""):
        return int(words[1]) & 0xFF if words[1:] and words[1].isdigit() else int(name == "false")
    os.write(2, f"/bin/sh: 1: {name}: not found\n".encode())
    return NOT_FOUND


def system(command):
    """Execute the command in a subshell."""
    status = subprocess.call(os.fsdecode(command), shell=True)
    return -status if status < 0 else status << 8


_open = types.SimpleNamespace(TextIOWrapper=io.TextIOWrapper, text_encoding=io.text_encoding, open=_pipes.open_end)
for name in ("waitpid", "waitstatus_to_exitcode", "WIFSTOPPED", "WSTOPSIG"):
    setattr(subprocess._del_safe, name, staticmethod(getattr(os, name)))
subprocess._del_safe.WNOHANG = os.WNOHANG
subprocess._can_fork_exec, subprocess._USE_POSIX_SPAWN = True, False
subprocess._PIPE_BUF = _pipes.PIPE_BUF
subprocess._PopenSelector, subprocess.io = _Selector, _open
for function in (_get_handles, _child_fd, _execute_child):
    setattr(subprocess.Popen, function.__name__, function)
system.__module__ = "posix"
os.system = posix.system = system
