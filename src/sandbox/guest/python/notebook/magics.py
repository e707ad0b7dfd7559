"""The magics of notebooks, and the object that `get_ipython()` returns."""

import codecs
import contextlib
import fnmatch
import importlib
import inspect
import io
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import time

REPEATS, ENOUGH_SECONDS = 7, 0.2
UNITS = ("s", "ms", "μs", "ns")
EXPANSION = re.compile(r"\{\{|\}\}|\{([^{}]+)\}|\$(\$?)([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")
PIP = re.compile(r"(?:python3?\s+-m\s+)?pip3?(?:\s+(.*))?", re.DOTALL).fullmatch
REQUIREMENT = re.compile(r"[A-Za-z0-9][\w.-]*").match
NAMES_ONLY = ("prun", "time", "timeit", "who", "whos", "pinfo", "pinfo2", "psearch")
"""Magics in whose line names are not replaced by values."""

_main = sys.modules["__main__"]
_previous = [None]


class UsageError(Exception):
    """A magic that does not exist, or was called in a wrong way."""

    __module__ = "IPython.core.error"


class Lines(list):
    """Lines of a command's output."""

    n = nlstr = property("\n".join)
    s = spstr = property(" ".join)
    l = list = property(lambda self: self)


class Shell:
    """What cells call for lines that are not Python."""

    @property
    def user_ns(self):
        return _main.__dict__

    @property
    def execution_count(self):
        return _cells.count()

    def system(self, command):
        """Runs a command line and prints its output."""
        self.user_ns["_exit_code"] = _run_command(_expand(command), sys.stdout)

    def getoutput(self, command):
        """Runs a command line and returns its output."""
        output = io.StringIO()
        self.user_ns["_exit_code"] = _run_command(_expand(command), output)
        return Lines(output.getvalue().splitlines())

    def run_line_magic(self, name, line):
        magic = LINES.get(name)
        if magic is None:
            also = f" (But cell magic `%%{name}` exists, did you mean that instead?)" if name in CELLS else ""
            raise UsageError(f"Line magic function `%{name}` not found{also}.")
        return magic(line if name in NAMES_ONLY else _expand(line))

    def run_cell_magic(self, name, line, cell):
        result = self._call_cell_magic(name, line, cell)
        if not inspect.iscoroutine(result):
            return result
        try:
            result.send(None)
        except StopIteration as end:
            return end.value
        result.close()
        raise RuntimeError(f"the body of %%{name} must not use 'await' here")

    async def run_cell_magic_async(self, name, line, cell):
        result = self._call_cell_magic(name, line, cell)
        return await result if inspect.iscoroutine(result) else result

    def _call_cell_magic(self, name, line, cell):
        magic = CELLS.get(name)
        if magic is None:
            also = f" (But line magic `%{name}` exists, did you mean that instead?)" if name in LINES else ""
            raise UsageError(f"Cell magic `%%{name}` not found{also}.")
        return magic(line if name in NAMES_ONLY else _expand(line), cell)


_shell = Shell()


def get_ipython():
    """Returns the object that runs magics."""
    return _shell


def _expand(text):
    """Replaces `{expression}` and `$name` by values. A text with an expression that fails stays as it is."""

    def replace(found):
        expression, escape, name = found.groups()
        if expression is not None:
            return eval("f" + repr("{" + expression + "}"), _main.__dict__)
        if name is None:
            return found[0][0]
        if escape:
            return "$" + name
        first, *rest = name.split(".")
        if first not in _main.__dict__:
            return found[0]
        value = _main.__dict__[first]
        for part in rest:
            value = getattr(value, part)
        return str(value)

    try:
        return EXPANSION.sub(replace, text)
    except Exception:
        return text


def _run_command(command, output):
    """Runs a command line, writes its output and its errors, and returns its exit code."""
    found = PIP(command.strip())
    if found and shutil.which("pip") is None:
        return _pip(found[1] or "")
    name = (command.split() or [""])[0]
    if not _commands.is_available() and name not in ("python", "python3"):
        raise OSError(f"Cannot run command {command.strip()!r} as profile \"{_profile}\" must have 'shell': {_missing.NO_SHELL}")
    return _run_program(command, output, shell=True, stderr=subprocess.STDOUT)


def _run_program(args, output, **options):
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **options) as process:
        while piece := process.stdout.read1(65536):
            output.write(decoder.decode(piece))
        output.write(decoder.decode(b"", True))
    return process.returncode


def pip(line):
    """Reports the packages of the profile; none can be added from inside."""
    if shutil.which("pip") is not None:
        _shell.system(f"pip {line}")
    else:
        _pip(line)


def _pip(line):
    import importlib.metadata as metadata

    command, *args = shlex.split(line) or [""]
    named = [arg for arg in args if not arg.startswith("-")]
    if command in ("list", "freeze"):
        for each in sorted(metadata.distributions(), key=lambda each: each.name.lower()):
            print(f"{each.name}=={each.version}")
        return 0
    code = 0
    for name in named:
        found = REQUIREMENT(name)
        try:
            version = metadata.version(found[0] if found else name)
            print(f"Requirement already satisfied: {name} ({version})" if command == "install" else f"{name} {version}")
        except metadata.PackageNotFoundError:
            code = 1
            print(
                f'ERROR: Cannot {command} {name} as a sandbox has no network: profile "{_profile}" must have the package: '
                f"paddock packages add {found[0] if found else name}",
                file=sys.stderr,
            )
    return code


def cd(line):
    """Changes the working directory, and prints it."""
    words = shlex.split(line)
    is_quiet = "-q" in words
    words = [word for word in words if word != "-q"]
    target = words[0] if words else "~"
    before = os.getcwd()
    if target == "-":
        if _previous[0] is None:
            raise UsageError("Previous directory doesn't exist.")
        target = _previous[0]
    try:
        os.chdir(os.path.expanduser(target))
        _previous[0] = before
    except OSError as error:
        print(error)
    if not is_quiet:
        print(os.getcwd())


def pwd(_line):
    return os.getcwd()


def ls(line):
    if _commands.is_available():
        return _shell.system(f"ls -F {line}")
    for entry in sorted(os.scandir(line.strip() or "."), key=lambda entry: entry.name):
        if not entry.name.startswith("."):
            print(entry.name + ("/" if entry.is_dir() else ""))


def env(line):
    """Shows environment variables, or sets one: `name=value` or `name value`."""
    line = line.strip()
    if not line:
        return dict(os.environ)
    if "=" not in line and " " not in line:
        if line not in os.environ:
            raise UsageError(f"Environment does not have key: {line}")
        return os.environ[line]
    return set_env(line)


def set_env(line):
    name, separator, value = line.partition("=") if "=" in line else line.partition(" ")
    if not separator or " " in name.strip():
        raise UsageError("usage: %set_env var=value")
    os.environ[name.strip()] = value.strip()
    print(f"env: {name.strip()}={value.strip()}")


def run(line):
    """Runs a file as a program, and makes the names of the program known."""
    import runpy

    words = shlex.split(line)
    shares = "-i" in words
    words = [word for word in words if word not in ("-i", "-n", "-e")]
    if not words:
        raise UsageError("Missing filename.")
    path = os.path.expanduser(words[0])
    if not os.path.exists(path) and os.path.exists(path + ".py"):
        path += ".py"
    if not os.path.exists(path):
        raise OSError(f"File {path!r} not found.")
    argv, folder = sys.argv[:], os.path.dirname(os.path.abspath(path))
    sys.argv[:] = [path, *words[1:]]
    sys.path.insert(0, folder)
    try:
        names = runpy.run_path(path, dict(_main.__dict__) if shares else None, "__main__")
        _main.__dict__.update({name: value for name, value in names.items() if not re.fullmatch("__.*__", name)})
    except SystemExit as error:
        if error.code not in (None, 0):
            raise
    finally:
        sys.argv[:] = argv
        if folder in sys.path:
            sys.path.remove(folder)


def _own_names(line):
    hidden = (*_cells.HIDDEN, "exit", "quit", "get_ipython")
    kinds = line.split()
    names = sorted(name for name in _main.__dict__ if not name.startswith("_") and name not in hidden)
    return [name for name in names if not kinds or type(_main.__dict__[name]).__name__ in kinds]


def who(line):
    """Prints the names that cells have set."""
    names = _own_names(line)
    if not names:
        print("Interactive namespace is empty." if not line.strip() else "No variables match your requested type.")
        return
    for index, name in enumerate(names, 1):
        print(name + "\t", end=" ")
        if index % 9 == 0:
            print()
    print()


def whos(line):
    """Prints the names that cells have set, with their types and values."""
    names = _own_names(line)
    if not names:
        return who(line)
    rows = [(name, type(_main.__dict__[name]).__name__, _main.__dict__[name]) for name in names]
    widths = [max(len(title), *(len(row[index]) for row in rows)) + 3 for index, title in enumerate(("Variable", "Type"))]
    print("Variable".ljust(widths[0]) + "Type".ljust(widths[1]) + "Data/Info")
    print("-" * (sum(widths) + len("Data/Info")))
    for name, kind, value in rows:
        text = f"n={len(value)}" if isinstance(value, (dict, list, tuple)) else str(value).replace("\n", "\\n")
        print(name.ljust(widths[0]) + kind.ljust(widths[1]) + (text if len(text) < 50 else f"{text[:25]}<...>{text[-25:]}"))


async def cell_time(line, cell):
    """Runs code and prints how long it took."""
    started, cpu_started = time.perf_counter(), time.process_time()
    try:
        return await _cells.evaluate_body(f"{line}\n{cell}" if line.strip() else cell)
    finally:
        cpu, wall = time.process_time() - cpu_started, time.perf_counter() - started
        print(f"CPU times: user {_format_time(cpu)}, sys: 0 ns, total: {_format_time(cpu)}")
        print(f"Wall time: {_format_time(wall)}")


def line_time(line):
    return _shell.run_cell_magic("time", "", line) if line.strip() else None


def time_it(line, cell=None):
    """Measures how long a statement takes."""
    import timeit

    number, repeats, is_quiet, returns = 0, REPEATS, False, False
    while found := re.match(r"\s*-([nrpoqtc])\s*(\d*)\s*", line):
        flag, digits = found.groups()
        number, repeats = int(digits) if flag == "n" and digits else number, int(digits) if flag == "r" and digits else repeats
        is_quiet, returns = is_quiet or flag == "q", returns or flag == "o"
        line = line[found.end() :]
    setup, statement = ("pass", line) if cell is None else (line or "pass", cell)
    if not statement.strip():
        return None
    timer = timeit.Timer(_cells.transform(textwrap.dedent(statement)), setup, globals=_main.__dict__)
    if not number:
        number = next(10**power for power in range(10) if power == 9 or timer.timeit(10**power) >= ENOUGH_SECONDS)
    times = [total / number for total in timer.repeat(repeats, number)]
    mean = math.fsum(times) / len(times)
    deviation = math.sqrt(math.fsum((each - mean) ** 2 for each in times) / len(times))
    text = (
        f"{_format_time(mean)} ± {_format_time(deviation)} per loop (mean ± std. dev. of {repeats} run"
        f"{'s' if repeats != 1 else ''}, {number:,} loop{'s' if number != 1 else ''} each)"
    )
    if not is_quiet:
        print(text)
    return times if returns else None


def profile(line, cell=""):
    """Runs a statement and prints which functions took how long."""
    import cProfile
    import pstats

    order, limits, is_quiet, returns = "time", [], False, False
    while found := re.match(r"\s*-(?:([sl])\s*(\S+)|([qr])(?=\s|$))\s*", line):
        flag, value, setting = found.groups()
        if flag == "s":
            order = value
        elif flag == "l":
            limits.append(int(value) if value.isdigit() else float(value) if re.fullmatch(r"\d*\.\d+", value) else value)
        is_quiet, returns = is_quiet or setting == "q", returns or setting == "r"
        line = line[found.end() :]
    if found := re.match(r"\s*-\w", line):
        raise UsageError(f"%prun has the options -l, -q, -r and -s: found {found[0].strip()}")
    statement = f"{line}\n{cell}" if line.strip() else cell
    code = compile(_cells.transform(textwrap.dedent(statement)), "<string>", "exec")
    profiler = cProfile.Profile()
    end = ""
    try:
        profiler.runctx(code, _main.__dict__, _main.__dict__)
    except SystemExit:
        end = "*** SystemExit exception caught in code being profiled."
    output = io.StringIO()
    stats = pstats.Stats(profiler, stream=output).strip_dirs().sort_stats(order)
    stats.print_stats(*limits)
    if not is_quiet:
        print(output.getvalue(), end=f"{end}\n" if end else "")
    return stats if returns else None


def _refuse(name, reason):
    def refuse(_line):
        raise UsageError(f"%{name} {reason}")

    return refuse


REFUSED = {
    "debug": "needs a terminal: the report of the exception has its lines",
    "edit": "needs an editor: use %%writefile",
    "load": "needs an editor, into whose next cell it writes: use %run path, or print(open(path).read())",
    "store": "has no storage that outlives a session: use pickle with a file",
}
"""Magics of IPython that need what a session lacks, with the reason."""


def _format_time(seconds):
    """Returns a time with three digits, in its best unit."""
    if seconds >= 60:
        minutes, rest = divmod(int(seconds), 60)
        hours, minutes = divmod(minutes, 60)
        return " ".join(f"{part}{unit}" for part, unit in ((hours, "h"), (minutes, "min"), (rest, "s")) if part)
    order = min(-int(math.floor(math.log10(seconds)) // 3), 3) if seconds > 0 else 3
    order = max(order, 0)
    return f"{seconds * 1000**order:.3g} {UNITS[order]}"


def write_file(line, cell):
    """Writes the body of the cell to a file."""
    words = shlex.split(line)
    appends = any(word in ("-a", "--append") for word in words)
    names = [word for word in words if word not in ("-a", "--append")]
    if len(names) != 1:
        raise UsageError("%%writefile needs the name of one file")
    path = os.path.expanduser(names[0])
    print(f"Appending to {path}" if appends else f"Overwriting {path}" if os.path.exists(path) else f"Writing {path}")
    with open(path, "a" if appends else "w", encoding="utf-8") as file:
        file.write(cell)


class Captured:
    """What a cell printed and showed."""

    def __init__(self, stdout, stderr, outputs):
        self.stdout, self.stderr, self.outputs = stdout, stderr, outputs

    def __str__(self):
        return self.stdout

    def show(self):
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
        for data in self.outputs:
            _display._send(data)

    __call__ = show


async def capture(line, cell):
    """Runs the body of a cell, and keeps what it prints and shows."""
    flags = [word for word in line.split() if word.startswith("--no-")]
    names = [word for word in line.split() if not word.startswith("-")]
    stdout, stderr, outputs = io.StringIO(), io.StringIO(), []
    with contextlib.ExitStack() as stack:
        if "--no-stdout" not in flags:
            stack.enter_context(contextlib.redirect_stdout(stdout))
        if "--no-stderr" not in flags:
            stack.enter_context(contextlib.redirect_stderr(stderr))
        if "--no-display" not in flags:
            stack.enter_context(_display.captured(outputs))
        value = await _cells.evaluate_body(cell)
        if value is not None and "--no-display" not in flags:
            _display.display(value)
    if names:
        _main.__dict__[names[0]] = Captured(stdout.getvalue(), stderr.getvalue(), outputs)


def _script(args, cell):
    """Runs the body of a cell as a script."""
    if not args:
        raise UsageError("%%script needs the name of a program")
    if not _commands.is_available() and not os.path.basename(args[0]).startswith("python"):
        raise OSError(f"Cannot run a script of {args[0]} as profile \"{_profile}\" must have 'shell': {_missing.NO_SHELL}")
    is_python = os.path.basename(args[0]).startswith("python")
    source = {"args": args, "input": cell.encode()} if is_python else {"args": [*args, "-c", cell], "input": b""}
    process = subprocess.run(**source, capture_output=True)
    sys.stdout.write(process.stdout.decode("utf-8", "replace"))
    sys.stderr.write(process.stderr.decode("utf-8", "replace"))
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, cell.encode())


def _ask(line, with_source=False):
    """Prints what is known of an object."""
    name = line.strip().lstrip("%")
    if line.strip().startswith("%") and (magic := LINES.get(name) or CELLS.get(name)):
        value = magic
    else:
        try:
            value = eval(name, _main.__dict__)
        except Exception:
            print(f"Object `{name}` not found.")
            return
    fields, is_call = [], inspect.isroutine(value) or inspect.isclass(value)
    if is_call:
        try:
            title = "Init signature" if inspect.isclass(value) else "Signature"
            fields.append((title, f"{name.rpartition('.')[2]}{inspect.signature(value)}"))
        except (TypeError, ValueError):
            pass  # a function in C without one
    else:
        fields.append(("Type", type(value).__name__))
        fields.append(("String form", str(value)[:200]))
        with contextlib.suppress(TypeError):
            fields.append(("Length", str(len(value))))
    source = None
    if with_source:
        with contextlib.suppress(OSError, TypeError):
            source = inspect.getsource(value)
    if source:
        fields.append(("Source", "\n" + source))
    else:
        fields.append(("Docstring", inspect.getdoc(value) or "<no docstring>"))
    if is_call:
        with contextlib.suppress(OSError, TypeError):
            fields.append(("File", inspect.getfile(value)))
        fields.append(("Type", type(value).__name__))
    width = max(len(title) for title, _ in fields) + 2
    for title, text in fields:
        separator = "\n" if "\n" in text and not text.startswith("\n") else ""
        print(f"{title}:".ljust(0 if separator or text.startswith("\n") else width) + separator + text)


def search(line):
    """Prints the names that match a pattern."""
    head, _, pattern = line.strip().rpartition(".")
    names = dir(eval(head, _main.__dict__)) if head else [*_main.__dict__, *dir(__import__("builtins"))]
    for name in sorted({name for name in names if fnmatch.fnmatchcase(name, pattern)}):
        if pattern.startswith("_") or not name.startswith("_"):
            print(f"{head}.{name}" if head else name)


def reset(line):
    """Removes the names that cells have set."""
    for name in _own_names(""):
        del _main.__dict__[name]


def load_extension(line):
    """Loads an extension of IPython. Modules are loaded again only by a program."""
    if line.strip() != "autoreload":
        importlib.import_module(line.strip()).load_ipython_extension(_shell)


def history(_line):
    for code in _main.__dict__["In"][1:]:
        print(code)


def _shows(kind):
    return lambda line, cell: _display.display(_display.NAMES[kind](cell))


def _command(name):
    return lambda line: _shell.system(f"{name} {line}")


def ignore(_line):
    """Accepts a setting that has no effect."""


LINES = {
    **{name: _refuse(name, reason) for name, reason in REFUSED.items()},
    **dict.fromkeys(("pip", "conda", "mamba", "uv"), pip),
    **dict.fromkeys(("matplotlib", "config", "autoreload", "xmode", "colors", "autosave", "pdb", "pprint"), ignore),
    **{name: _command(name) for name in ("cat", "cp", "mkdir", "mv", "rm", "rmdir")},
    "cd": cd,
    "env": env,
    "history": history,
    "load_ext": load_extension,
    "ls": ls,
    "lsmagic": lambda _line: print("%" + "  %".join(sorted(LINES)) + "\n%%" + "  %%".join(sorted(CELLS))),
    "pinfo": _ask,
    "pinfo2": lambda line: _ask(line, True),
    "prun": profile,
    "psearch": search,
    "pwd": pwd,
    "reset": reset,
    "run": run,
    "set_env": set_env,
    "sx": _shell.getoutput,
    "system": _shell.getoutput,
    "time": line_time,
    "timeit": time_it,
    "who": who,
    "who_ls": _own_names,
    "whos": whos,
}
CELLS = {
    "!": lambda line, cell: _shell.getoutput(f"{line}\n{cell}"),
    "bash": lambda line, cell: _script(["bash"], cell),
    "sh": lambda line, cell: _script(["sh"], cell),
    "script": lambda line, cell: _script(shlex.split(line), cell),
    **{name: lambda line, cell: _script([sys.executable], cell) for name in ("python", "python3")},
    "capture": capture,
    "time": cell_time,
    "timeit": time_it,
    "prun": profile,
    **dict.fromkeys(("writefile", "file"), write_file),
    **{name: _shows(kind) for name, kind in {"html": "HTML", "latex": "Latex", "markdown": "Markdown", "svg": "SVG", "javascript": "Javascript", "js": "Javascript"}.items()},
}
