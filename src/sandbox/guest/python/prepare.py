"""Prepares a started Pyodide for the base image: adds our modules, removes its bridge to JavaScript."""

import gc
import importlib
import os
import sys
import types

PRIVATE = ("_pyodide", "pyodide", "js", "pyodide_js", "_pyodide_core")


MAXSIZE = 2**63 - 1
"""`sys.maxsize` of 64-bit machines. Many programs use it as infinity, and that of 32-bit Wasm is reached soon."""


def prepare(sources, preimports, preload):
    for name in preimports:
        importlib.import_module(name)
    modules = {name: types.ModuleType(name) for name in sources}
    for name, source in sources.items():
        modules[name].__dict__.update(
            _bridge=modules.get("bridge"),
            _tools=modules.get("tools"),
            _loops=modules.get("event_loop"),
            _runner=modules.get("runner"),
        )
        exec(compile(source, f"<paddock {name}>", "exec", dont_inherit=True), modules[name].__dict__)
    _publish_tools(modules["tools"])
    _block_javascript()
    sys.maxsize = MAXSIZE
    if preload:
        _run_module(*preload)
    _clear_main()
    for name in ("LD_LIBRARY_PATH", "PYTHONINSPECT", "_"):
        os.environ.pop(name, None)
    importlib.invalidate_caches()
    gc.collect()
    gc.freeze()  # a session's collector must not scan the objects of the image
    return id(modules["runner"].handle)


def _publish_tools(module):
    package = types.ModuleType("paddock", "What Paddock offers to the Python that runs in it.")
    package.tools = module.tools
    package.ToolError = module.ToolError
    module.Tool.__module__ = module.ToolError.__module__ = "paddock"
    sys.modules["paddock"] = package


def _block_javascript():
    """Makes imports of these modules fail. Not a security boundary: the worker removes the bridge itself."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder) is type]
    for name in list(sys.modules):
        if name.split(".")[0] in PRIVATE:
            sys.modules[name] = None


def _run_module(name, source):
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(source, f"<{name}>", "exec", dont_inherit=True), module.__dict__)


def _clear_main():
    main = sys.modules["__main__"].__dict__
    for name in list(main):
        if name not in ("__builtins__", "__doc__", "__loader__", "__name__", "__package__", "__spec__"):
            del main[name]
