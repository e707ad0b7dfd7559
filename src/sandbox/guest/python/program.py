"""Runs Python programs of the shell and in processes: `python script.py`, `-c`, `-m`, and programs on stdin."""

import builtins
import io
import linecache
import os
import signal
import sys
import time
import weakref

VERSION = ".".join(map(str, sys.version_info[:3]))
USAGE = "usage: python [option] ... [-c cmd | -m mod | file | -] [arg] ...\n"
PLAIN_FLAGS = "bBdEiIOPqRsSuvx"
"""One-letter options that have no effect here."""

_tzset = time.tzset
_excepthook = sys.__excepthook__
_getcwd, _chdir = os.getcwd, os.chdir
"""Graders set the functions of `os` to None."""
ZONE_ATTRIBUTES = ("tzname", "timezone", "altzone", "daylight")
SAVED_ATTRIBUTES = ("argv", "path", "stdin", "stdout", "stderr", "excepthook", "displayhook")


def run_program(request):
    """Runs a program like a separate process, as far as one interpreter can. Returns its exit code."""
    saved = {name: getattr(sys, name) for name in SAVED_ATTRIBUTES}
    saved_path, saved_modules, main = list(sys.path), dict(sys.modules), sys.modules["__main__"]
    saved_cwd, saved_env = _cwd(), dict(os.environ)
    saved_zone, saved_times = tuple(_bridge.zone), {name: getattr(time, name) for name in ZONE_ATTRIBUTES}
    saved_functions, _procs.root.exit_functions = _procs.root.exit_functions, []
    _procs.root.source = None
    _runner._begin_program()
    try:
        _enter(request)
        _set_zone()
        return _outcome(request["argv"])
    except BaseException as error:
        return {"exitCode": 1, "interrupted": isinstance(error, KeyboardInterrupt)}
    finally:
        _procs.end_all()
        _procs.root.exit_functions = saved_functions
        _runner._state.active = False
        _restore_modules(saved_modules, main)
        vars(sys).update(saved)
        sys.path[:] = saved_path
        _set_environment(saved_env)
        _bridge.set_zone(*saved_zone)
        vars(time).update(saved_times)
        if saved_cwd is not None:
            _chdir(saved_cwd)


def _set_zone():
    """Sets the zone of local times to that of the environment, as a new process does."""
    if os.environ.get("TZ") != _bridge.zone[0]:
        _tzset()


def run_child(argv, env):
    """Runs a program in a new process. Returns its exit code."""
    _set_environment(env)
    _set_zone()
    _drop_user_modules()
    for name in ("argv", "path", "warnoptions"):
        setattr(sys, name, list(getattr(sys, name)))
    sys.excepthook, sys.displayhook = sys.__excepthook__, sys.__displayhook__
    raw = _descriptors.PipeFile(0, "r", closefd=False)
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.BufferedReader(raw), "utf-8", "surrogateescape", newline="\n")
    sys.stdin.mode = "r"
    is_unbuffered = bool(env.get("PYTHONUNBUFFERED")) or (argv[0][:1] == "-" and "u" in argv[0] if argv else False)
    sys.stdout = sys.__stdout__ = _open_output(1, "strict", is_unbuffered)
    sys.stderr = sys.__stderr__ = _open_output(2, "backslashreplace", is_unbuffered)
    try:
        outcome = _outcome(argv)
    except BrokenPipeError:
        return 120
    return -signal.SIGINT if outcome["interrupted"] else outcome["exitCode"]


def _open_output(fd, errors, is_unbuffered):
    if fd not in _procs.current().fds:
        return _runner._open_stream(fd, errors)
    raw = _descriptors.PipeFile(fd, "w", closefd=False)
    stream = io.TextIOWrapper(
        raw if is_unbuffered else io.BufferedWriter(raw),
        "utf-8",
        errors,
        newline="\n",
        line_buffering=fd == 2,
        write_through=is_unbuffered,
    )
    stream.mode = "w"
    return stream


def _enter(request):
    weakref.finalize._registered_with_atexit = False  # its functions run at the end of each program that uses it
    _chdir(request["cwd"])
    _set_environment(request["env"])
    _drop_user_modules()
    data = request["stdin"].encode("latin-1")
    sys.stdin = io.TextIOWrapper(io.BytesIO(data), "utf-8", "surrogateescape", newline="\n")
    sys.stdin.mode = "r"
    sys.stdout = _runner._open_stream(1, "strict")
    sys.stderr = _runner._open_stream(2, "backslashreplace")
    sys.path[:] = list(sys.path)


def _outcome(argv):
    interrupted = False
    earlier = set(_sched.threads)
    try:
        try:
            _start(list(argv))
        finally:
            _threads.finish(earlier)
        code = 0
    except SystemExit as error:
        code = _exit_code(error.code)
    except BaseException as error:
        if isinstance(error, _procs.ProcessEnded):
            raise
        interrupted = isinstance(error, KeyboardInterrupt)
        if interrupted and _procs.current() is _procs.root:
            _runner._state.active = False
        _print_error(error)
        code = 130 if interrupted else 1
    _end()
    return {"exitCode": code, "interrupted": interrupted}


def _end():
    """Does what follows the last line of a program."""
    _exits.run_own()
    source = _procs.current().source
    if source is None or _ends.is_visible(source):
        _ends.release()
    _flush_streams()


def _flush_streams():
    for stream in (sys.stdout, sys.stderr):
        if not getattr(stream, "closed", True):
            stream.flush()


_isolated = [False]
"""Whether the program ignores `PYTHONPATH`, by `-E` or `-I`."""


def _start(args):
    """Parses the command line as `python` does, and runs the program."""
    _isolated[0] = False
    while args:
        argument = args.pop(0)
        flags = argument[1 : len(argument) - len(argument[1:].lstrip(PLAIN_FLAGS))] if argument[:1] == "-" else ""
        _isolated[0] = _isolated[0] or "E" in flags or "I" in flags
        if argument == "-c":
            return _run_text(_take_argument(args, "-c"), "<string>", ["-c", *args])
        if argument == "-m":
            return _run_module(_take_argument(args, "-m"), args)
        if argument in ("-V", "--version", "-VV"):
            return print(f"Python {VERSION}")
        if argument in ("-h", "--help", "-?"):
            return print(USAGE, end="")
        if argument in ("-W", "-X"):
            _take_argument(args, argument)
        elif argument == "-":
            return _run_text(sys.stdin.read(), "<stdin>", ["-", *args])
        elif not argument.startswith("-"):
            return _run_script(argument, args)
        elif argument[:2] not in ("-W", "-X") and argument.strip(PLAIN_FLAGS) != "-":
            args[:0] = _split(argument)
    _run_text(sys.stdin.read(), "<stdin>", [""])


def _split(argument):
    """Splits combined one-letter options, such as `-uc`."""
    rest = argument[1:].lstrip(PLAIN_FLAGS)
    if rest[:1] in ("c", "m", "V", "h") and not argument.startswith("--"):
        return [f"-{rest[0]}", *([rest[1:]] if rest[1:] else [])]
    sys.stderr.write(f"Unknown option: {argument[:2]}\n{USAGE}Try 'python -h' for more information.\n")
    raise SystemExit(2)


def _take_argument(args, option):
    if args:
        return args.pop(0)
    sys.stderr.write(f"Argument expected for the {option} option\n{USAGE}Try 'python -h' for more information.\n")
    raise SystemExit(2)


def _run_text(text, name, argv):
    text = text.removeprefix("\ufeff")
    sys.argv, sys.path[:] = argv, ["", *_library_path()]
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    _procs.current().source = text
    _execute(compile(text, name, "exec", dont_inherit=True), {})


def _run_script(path, args):
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        sys.stderr.write(f"python: can't open file {_absolute(path)!r}: [Errno {error.errno}] {error.strerror}\n")
        raise SystemExit(2) from None
    sys.argv, sys.path[:] = [path, *args], [os.path.dirname(_absolute(path)), *_library_path()]
    linecache.checkcache()
    name = _absolute(path)
    _procs.current().source = source.decode("latin-1")
    _execute(compile(source, name, "exec", dont_inherit=True), {"__file__": name})


def _absolute(path):
    return os.path.normpath(os.path.join(_getcwd(), path))


def _run_module(name, args):
    import runpy

    sys.argv, sys.path[:] = ["-m", *args], [_getcwd(), *_library_path()]
    linecache.checkcache()
    try:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    except ImportError as error:
        if error.__traceback__.tb_next is not None and error.name not in (None, name):
            raise
        sys.stderr.write(f"python: {error}\n")
        raise SystemExit(1) from None


def _execute(code, names):
    main = sys.modules["__main__"].__dict__
    main.update(names, __builtins__=builtins)
    exec(code, main)


def _library_path():
    """Returns what follows the first folder of `sys.path`: the folders of `PYTHONPATH`, and the library."""
    given = "" if _isolated[0] else os.environ.get("PYTHONPATH", "")
    folders = [_absolute(path) for path in given.split(os.pathsep)] if given else []
    return [*dict.fromkeys(folders), *(path for path in sys.path if path.startswith("/lib/"))]


def _is_user_module(module):
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and not file.startswith("/lib/")


def _drop_user_modules():
    """Removes the user's modules, so that a program imports their current version, and has its own main one."""
    for name, module in list(sys.modules.items()):
        if _is_user_module(module):
            del sys.modules[name]
    for name in list(sys.path_importer_cache):
        if not name.startswith("/lib/"):
            del sys.path_importer_cache[name]
    _ends.begin_program()


def _restore_modules(saved, main):
    """Restores the session's modules. Library modules that the program imported stay."""
    for name, module in list(sys.modules.items()):
        if name not in saved and _is_user_module(module):
            del sys.modules[name]
    sys.modules.update(saved)
    sys.modules["__main__"] = main


def _set_environment(env):
    for name in [name for name in os.environ if name not in env]:
        del os.environ[name]
    for name, value in env.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


def _cwd():
    try:
        return _getcwd()
    except OSError:
        return None  # the directory was removed


def _exit_code(code):
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def _print_error(error):
    """Prints a traceback that starts at the program's first frame."""
    trace = error.__traceback__
    while trace and _is_own(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    hook = getattr(sys, "excepthook", _excepthook)
    if hook is _excepthook:
        sys.stderr.write(_errors.with_builtins(_errors.report_of, error, trace)[1])
    else:
        _errors.call_hook(hook, error, trace)


def _is_own(name):
    return name.startswith(("<paddock ", "<frozen runpy>")) or name.endswith("/runpy.py")
