"""`subprocess` and its relatives: runs Python programs, and the shell's commands where there is a shell."""

import errno
import io
import os
import posix
import select
import selectors
import shlex
import subprocess
import sys
import types

PYTHON_NAMES = ("python", "python3", "python3.14")
SHELLS = ("sh", "bash")
SHELL_SYNTAX = frozenset("|&;<>()$`\\*?[]#~=%!{}\n")
SHELL_OPTIONS = "aefnuvxC"
NOT_FOUND = 127
MASKS = {selectors.EVENT_READ: select.POLLIN, selectors.EVENT_WRITE: select.POLLOUT}


class _Selector(selectors._BaseSelectorImpl):
    """Waits for pipes."""

    def select(self, timeout=None):
        keys = self._fd_to_key
        masks = {fd: sum(MASKS[event] for event in MASKS if key.events & event) for fd, key in keys.items()}
        found = _polling.wait_for_events(masks, timeout)
        return [(keys[fd], keys[fd].events) for fd in found]


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
    if any("\0" in text for text in (*args, *env, *env.values())):
        raise ValueError("embedded null byte")
    try:
        if cwd is not None and not os.path.isdir(cwd):
            code = errno.ENOTDIR if os.path.exists(cwd) else errno.ENOENT
            raise OSError(code, os.strerror(code), cwd)
        executable = args[0] if executable is None else os.fsdecode(executable)
        body = _program_of(args, executable, env, cwd, p2cread != -1)
        fds = dict(_procs.current().fds)
        given = {0: p2cread, 1: c2pwrite, 2: errwrite}
        ends = {number: _pipes.end_of(fd) for number, fd in given.items() if fd != -1}
        ends.update({fd: _pipes.end_of(fd) for fd in pass_fds if fd in fds and fd not in ends})
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


def _program_of(args, executable, env, cwd, has_input):
    """Returns a function that runs a command and returns its exit code."""
    name = os.path.basename(executable)
    if executable in (sys.executable, *PYTHON_NAMES) or (name in PYTHON_NAMES and _is_command(executable)):
        return lambda: _programs.run_child(args[1:], env)
    if _commands.is_available():
        return _command_of(args, executable, env, cwd, has_input)
    if name in SHELLS and _is_command(executable) and len(args) > 2 and args[1] == "-c":
        return lambda: _run_line(args[2], env)
    if os.path.isfile(executable) and (program := _read_shebang(executable)):
        return lambda: _programs.run_child([*program, *args[1:]], env)
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), executable)


def _command_of(args, executable, env, cwd, has_input):
    """Returns a function that runs a command of the shell, or a script, and returns its exit code."""
    path = _find(executable, env, cwd)
    name = os.path.basename(path)
    if not _is_shell_command(path):
        interpreter, *options = _interpreter_of(path)
        if interpreter not in PYTHON_NAMES and not _is_shell_command(_find(interpreter, env, cwd)):
            raise OSError(errno.ENOEXEC, os.strerror(errno.ENOEXEC), path)
        return _program_of([interpreter, *options, *args[1:]], interpreter, env, cwd, has_input)
    if name in PYTHON_NAMES:
        return lambda: _programs.run_child(args[1:], env)
    if name not in SHELLS:
        reads_input = name not in _commands.NO_INPUT and (has_input or not any(map(os.path.exists, args[1:])))
        return lambda: _commands.run("command", ["--", name, *args[1:]], env, reads_input)
    options, line, rest = _split_shell_args(args[1:])
    if line is not None and not rest:
        return lambda: _commands.run(options + line, [], env, has_input)
    given = [*rest] if line is None else ["-c", options + line, *rest]
    return lambda: _commands.run("command", ["--", name, *given], env, has_input or not rest)


def _is_shell_command(path):
    """True if the shell has a command of this path."""
    return os.path.dirname(os.path.realpath(path)) == "/usr/bin"


def _find(executable, env, cwd):
    """Returns the path of the file of a command."""
    if "/" in executable:
        paths = [os.path.join(cwd or "", executable)]
    else:
        paths = [os.path.join(cwd or "", folder, executable) for folder in os.get_exec_path(env)]
    for path in paths:
        if os.path.isfile(path) and ("/" in executable or os.stat(path).st_mode & 0o111):
            return path
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), executable)


def _split_shell_args(args):
    """Splits the arguments of a shell. Returns the commands that set its options, the command line of `-c`, and the rest."""
    args, options, has_line = list(args), [], False
    while args and args[0][:1] in ("-", "+") and len(args[0]) > 1:
        flags = args.pop(0)
        if flags == "--":
            break
        if flags.startswith("--"):
            continue
        has_line = has_line or "c" in flags[1:]
        if kept := "".join(flag for flag in flags[1:] if flag in SHELL_OPTIONS):
            options.append(f"set {flags[0]}{kept}\n")
        if "o" in flags[1:] and args:
            options.append(f"set {flags[0]}o {shlex.quote(args.pop(0))}\n")
    return "".join(options), args.pop(0) if has_line and args else None, args


def _is_command(path):
    return os.path.dirname(path) in ("", "/bin", "/usr/bin", "/usr/local/bin")


def _read_shebang(path):
    """Returns the arguments of `python` that run a script, None if it is no Python program."""
    return [path] if "/" in path and any("python" in word for word in _interpreter_of(path)[:-1]) else None


def _interpreter_of(path):
    """Returns the interpreter that a script names, with its argument and the path of the script."""
    if not os.stat(path).st_mode & 0o111:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    with open(path, "rb") as file:
        line = file.readline(128)
    words = os.fsdecode(line[2:]).split()
    if not line.startswith(b"#!") or not words:
        raise OSError(errno.ENOEXEC, os.strerror(errno.ENOEXEC), path)
    if os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-")] or words
    if os.path.basename(words[0]).startswith("python"):
        words[0] = PYTHON_NAMES[0]
    return [*words, path]


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


_open = types.SimpleNamespace(TextIOWrapper=io.TextIOWrapper, text_encoding=io.text_encoding, open=_descriptors.open_end)
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
