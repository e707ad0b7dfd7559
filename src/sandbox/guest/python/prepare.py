"""Prepares a started Pyodide for the plain image, from which `extend` makes the image of a profile."""

import _imp
import gc
import importlib
import json
import os
import site
import sys
import traceback
import types
import zipimport

PRIVATE = ("_pyodide", "pyodide", "js", "pyodide_js", "_pyodide_core")

SITE_PACKAGES = "/lib/python3.14/site-packages"

MAXSIZE = 2**63 - 1
"""`sys.maxsize` of 64-bit machines. Many programs use it as infinity, and that of 32-bit Wasm is reached soon. C code
accepts it as the largest size."""


def prepare(preimports):
    """Removes the bridge to JavaScript. Returns the address of `extend`."""
    for name in preimports:
        importlib.import_module(name)
    _block_javascript()
    _widen_maxsize()
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


def _extend(sources, preimports, profile, preload=None):
    gc.unfreeze()
    importlib.invalidate_caches()
    if os.path.isdir(SITE_PACKAGES):
        sys.modules.pop("tzdata", None)
        site.addsitedir(SITE_PACKAGES)
    for name in preimports:
        importlib.import_module(name)
    modules = {name: types.ModuleType(name) for name in sources}
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
            _programs=modules.get("program"),
            _commands=modules.get("commands"),
            _locks=modules.get("locks"),
            _threads=modules.get("threads"),
            _errors=modules.get("report"),
            _missing=modules.get("missing"),
            _tools=modules.get("tools"),
            _loops=modules.get("event_loop"),
            _runner=modules.get("runner"),
            _values=modules.get("values"),
            _display=modules.get("display"),
            _pretty=modules.get("pretty"),
            _magics=modules.get("magics"),
            _cells=modules.get("cells"),
            _profile=profile,
        )
        exec(compile(source, f"<paddock {name}>", "exec", dont_inherit=True), modules[name].__dict__)
    _publish_tools(modules["tools"])
    sys.modules["paddock"]._processes, sys.modules["paddock"]._pipes = modules["processes"], modules["pipes"]
    modules["library_additions"].import_again()
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
    package.ToolError = module.ToolError
    module.Tool.__module__ = module.ToolError.__module__ = "paddock"
    sys.modules["paddock"] = package


def _widen_maxsize():
    """Sets `sys.maxsize` for programs. The library's hash of a set computes with the size of the machine."""
    own = types.ModuleType("sys")
    own.__dict__.update(vars(sys))
    sys.modules["_collections_abc"].sys = own
    sys.maxsize = MAXSIZE
    _widen_sample()


def _widen_sample():
    """Lets `random.sample` take from ranges that are longer than a size of the machine."""
    import random

    original = random.Random.sample
    sample = types.FunctionType(original.__code__, {**vars(random), "len": _length}, "sample", original.__defaults__)
    sample.__kwdefaults__ = original.__kwdefaults__
    sample.__doc__, sample.__qualname__ = original.__doc__, original.__qualname__
    random.Random.sample = sample
    random.sample = random._inst.sample


def _length(items):
    try:
        return len(items)
    except OverflowError:
        if type(items) is not range:
            raise
        return (items[-1] - items[0]) // items.step + 1


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
