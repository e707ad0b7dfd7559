"""Turns a started Pyodide into the base image: our modules in, its bridge to JavaScript out."""

import gc
import importlib
import os
import sys
import types

PRIVATE = ("_pyodide", "pyodide", "js", "pyodide_js", "_pyodide_core")


MAXSIZE = 2**63 - 1
"""That of the machines for which programs are written: many take it for infinity, and its own is soon met."""


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
    _close_javascript()
    sys.maxsize = MAXSIZE
    if preload:
        _run_module(*preload)
    _clear_main()
    for name in ("LD_LIBRARY_PATH", "PYTHONINSPECT", "_"):
        os.environ.pop(name, None)
    importlib.invalidate_caches()
    gc.collect()
    gc.freeze()  # the collector of a session has no reason to look at what came with the image
    return id(modules["runner"].handle)


def _publish_tools(module):
    package = types.ModuleType("paddock", "What Paddock offers to the Python that runs in it.")
    package.tools = module.tools
    package.ToolError = module.ToolError
    module.Tool.__module__ = module.ToolError.__module__ = "paddock"
    sys.modules["paddock"] = package


def _close_javascript():
    """Import of these fails from here on; a courtesy, for the walls are elsewhere."""
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
