"""Prepares a started Pyodide for the plain image, from which `extend` makes the image of a profile."""

import _imp
import builtins
import errno
import gc
import importlib
import json
import operator
import os
import posix
import site
import sys
import traceback
import types
import zipimport

PRIVATE = ("_pyodide", "pyodide", "js", "pyodide_js", "_pyodide_core")

SITE_PACKAGES = "/lib/python3.14/site-packages"

MAXSIZE = 2**63 - 1
"""`sys.maxsize` of 64-bit machines. Many programs use it as infinity, and that of 32-bit Wasm is reached soon. C code
takes sizes up to it, where they are limits."""

SOCKETS = "addresses hosts options endpoints streams messages outside ancillary socket_type polling tls".split()
"""Names of the modules of sockets."""

SECOND_NAMES = ("EWOULDBLOCK", "EDEADLK", "EOPNOTSUPP")
"""Names of errors that `errno.errorcode` has by another one."""


def prepare(preimports, errors):
    """Removes the bridge to JavaScript. Returns the address of `extend`."""
    for name in preimports:
        importlib.import_module(name)
    _block_javascript()
    _widen_maxsize()
    _use_linux_errors(errors)
    sys.excepthook = sys.__excepthook__  # Pyodide sets one, as a program does that handles its exceptions
    sys.modules["tzdata"] = None  # without it, Pyodide's zoneinfo says how to load this package
    for name in ("LD_LIBRARY_PATH", "PYTHONINSPECT", "_"):
        os.environ.pop(name, None)
    os.environ["PATH"] = "/usr/bin:/bin"  # where a shell has its commands
    _freeze()
    return id(extend)


def extend(request):
    """
    Adds what a profile names to the image, and returns the address of `runner.handle`, or a traceback. If the request
    names a file to compile, returns its byte code.
    """
    request = json.loads(request)
    if "compile" in request:
        return _compile(request["compile"])
    try:
        reply = {"handle": id(_extend(**request))}
    except BaseException:
        reply = {"error": traceback.format_exc()}
    return json.dumps(reply).encode("utf-8", "backslashreplace")


def _compile(path):
    """Returns byte code that an import does not compare with its source, or nothing if the file is not valid."""
    source = _read_source(path)
    try:
        code = compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return b""
    return bytes(importlib._bootstrap_external._code_to_hash_pyc(code, _imp.source_hash(0, source), False))


def _read_source(path):
    archive, separator, _ = path.partition(".zip/")
    if separator:
        return zipimport.zipimporter(f"{archive}.zip").get_data(path)
    with open(path, "rb") as file:
        return file.read()


def _extend(sources, preimports, profile, preload=None, environment=None):
    gc.unfreeze()
    importlib.invalidate_caches()
    if os.path.isdir(SITE_PACKAGES):
        sys.modules.pop("tzdata", None)
        site.addsitedir(SITE_PACKAGES)
    for name in preimports:
        importlib.import_module(name)
    modules = {name: types.ModuleType(name) for name in sources}
    own_builtins = dict(vars(builtins))  # a program can replace names of the original
    for name, source in sources.items():
        modules[name].__dict__.update(
            _bridge=modules.get("bridge"),
            _signals=modules.get("signals"),
            _alarms=modules.get("alarms"),
            _timers=modules.get("timers"),
            _sched=modules.get("scheduler"),
            _names=modules.get("namespaces"),
            _procs=modules.get("processes"),
            _pipes=modules.get("pipes"),
            _descriptors=modules.get("descriptors"),
            **{f"_{name}": modules.get(name) for name in SOCKETS},
            _programs=modules.get("program"),
            _commands=modules.get("commands"),
            _locks=modules.get("locks"),
            _threads=modules.get("threads"),
            _errors=modules.get("report"),
            _ends=modules.get("program_end"),
            _exits=modules.get("exit_functions"),
            _missing=modules.get("missing"),
            _tools=modules.get("tools"),
            _tool_arguments=modules.get("tool_arguments"),
            _loops=modules.get("event_loop"),
            _runner=modules.get("runner"),
            _values=modules.get("values"),
            _display=modules.get("display"),
            _pretty=modules.get("pretty"),
            _magics=modules.get("magics"),
            _cells=modules.get("cells"),
            _profile=profile,
            __builtins__=own_builtins,
        )
        exec(compile(source, f"<paddock {name}>", "exec", dont_inherit=True), modules[name].__dict__)
    _publish_tools(modules["tools"])
    sys.modules["paddock"]._processes, sys.modules["paddock"]._pipes = modules["processes"], modules["pipes"]
    modules["library_additions"].import_again()
    os.environ.update(environment or {})
    if preload:
        _run_module(**preload)
    _freeze()
    return modules["runner"].handle


def _freeze():
    """Brings the interpreter into the state of an image. A session's collector must not scan the image's objects."""
    _clear_main()
    importlib.invalidate_caches()
    gc.collect()
    gc.freeze()


def _publish_tools(module):
    package = types.ModuleType("paddock", "What Paddock offers to the Python that runs in it.")
    package.tools = module.tools
    package.__getattr__ = module.module_of
    for kind in (module.ToolError, module.ToolArgumentError, module.Media, module.Tool):
        kind.__module__ = "paddock"
        if kind is not module.Tool:
            setattr(package, kind.__name__, kind)
    sys.modules["paddock"] = package


def _widen_maxsize():
    """Sets `sys.maxsize` for programs. The library's hash of a set computes with the size of the machine."""
    own = types.ModuleType("sys")
    own.__dict__.update(vars(sys))
    sys.modules["_collections_abc"].sys = own
    sys.maxsize = MAXSIZE
    _widen_lru_cache()


def _use_linux_errors(errors):
    """
    Gives `errno`, `os.strerror` and the choice of subclasses of OSError the numbers of Linux. The module that runs with
    this image raises exceptions with them.
    """
    old = {name: value for name, value in vars(errno).items() if name[0] == "E"}
    new = {name: number for name, number, _ in errors}
    _renumber_subclasses({old[name]: number for name, number in new.items()})
    for module in list(sys.modules.values()):
        names = vars(module) if isinstance(module, types.ModuleType) else {}
        for name in old.keys() & names.keys():
            if names[name] == old[name]:
                names[name] = new[name]
    errno.errorcode.clear()
    errno.errorcode.update({number: name for name, number in new.items() if name not in SECOND_NAMES})
    texts = {number: text for _, number, text in errors}

    def strerror(code, /):
        """Translate an error code to a message string."""
        number = operator.index(code)
        if not -(2**31) <= number < 2**31:
            raise OverflowError("Python int too large to convert to C int")
        return texts.get(number) or ("Success" if number == 0 else f"Unknown error {number}")

    strerror.__module__ = "posix"
    os.strerror = posix.strerror = strerror


def _renumber_subclasses(numbers):
    """Changes the numbers by which C code chooses a subclass of OSError."""
    found = [
        each for each in gc.get_objects() if type(each) is dict and each.get(errno.ENOENT) is FileNotFoundError
    ]
    (subclasses,) = found
    renumbered = {numbers[number]: kind for number, kind in subclasses.items()}
    subclasses.clear()
    subclasses.update(renumbered)


def _widen_lru_cache():
    """Lets `cache_info()` return sizes that are larger than a size of the machine."""
    import functools

    make = functools._lru_cache_wrapper

    def make_wide(function, maxsize, typed, cache_info):
        if maxsize is None or not 2**31 <= maxsize <= MAXSIZE:
            return make(function, maxsize, typed, cache_info)
        return make(function, maxsize, typed, lambda hits, misses, _, size: cache_info(hits, misses, maxsize, size))

    original = functools.lru_cache
    names = {**vars(functools), "_lru_cache_wrapper": make_wide}
    functools.lru_cache = types.FunctionType(original.__code__, names, "lru_cache", original.__defaults__)
    functools.lru_cache.__doc__, functools.lru_cache.__module__ = original.__doc__, "functools"


def _block_javascript():
    """Makes imports of these modules fail. Not a security boundary: the worker removes the bridge itself."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder) is type]
    for name in list(sys.modules):
        if name.split(".")[0] in PRIVATE:
            sys.modules[name] = None


def _run_module(module, source):
    loaded = sys.modules[module] = types.ModuleType(module)
    exec(compile(source, f"<{module}>", "exec", dont_inherit=True), loaded.__dict__)


def _clear_main():
    main = sys.modules["__main__"].__dict__
    for name in list(main):
        if name not in ("__builtins__", "__doc__", "__loader__", "__name__", "__package__", "__spec__"):
            del main[name]
