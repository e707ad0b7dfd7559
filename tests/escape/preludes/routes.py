"""`run_js(codes)` tries every known way from Python to JavaScript that leaves the interpreter alive."""

import builtins
import gc
import importlib
import importlib.machinery
import importlib.util
import sys

NAMES = ("js", "pyodide", "pyodide_js", "_pyodide", "_pyodide_core")


def _forget():
    for name in [name for name in sys.modules if name.split(".")[0] in NAMES]:
        sys.modules.pop(name, None)


def by_import(code):
    import js

    return js.eval(code)


def by_import_after_forgetting(code):
    _forget()
    import js

    return js.eval(code)


def by_run_js(code):
    _forget()
    from pyodide.code import run_js

    return run_js(code)


def by_pyodide_js(code):
    _forget()
    return importlib.import_module("pyodide_js")._module.eval(code)


def by_builtin_importer(code):
    _forget()
    spec = importlib.machinery.BuiltinImporter.find_spec("js")
    return importlib.util.module_from_spec(spec).eval(code)


def by_core(code):
    _forget()
    core = importlib.import_module("_pyodide_core")
    proxy = [value for value in vars(core).values() if type(value).__name__.startswith("JsProxy")][0]
    return proxy.constructor.constructor(code)()


def by_js_finder(code):
    _forget()
    hook = importlib.import_module("_pyodide._importhook")
    finder = hook.JsFinder()
    return finder.find_spec("js", None).loader.create_module(None).eval(code)


def by_garbage(code):
    for thing in gc.get_objects():
        if type(thing).__name__.startswith("JsProxy") or type(thing).__module__ == "pyodide.ffi":
            return thing.constructor.constructor(code)()
    raise LookupError("no JavaScript object is alive")


def by_modules_kept(code):
    for module in gc.get_objects():
        if isinstance(module, type(sys)) and module.__name__.split(".")[0] in ("js", "pyodide_js"):
            return module.eval(code)
    raise LookupError("no JavaScript module is alive")


def by_subclasses(code):
    for kind in object.__subclasses__():
        if "Js" in kind.__name__ and hasattr(kind, "constructor"):
            return kind.constructor.constructor(code)()
    raise LookupError("no JavaScript class is alive")


def by_builtins(code):
    return builtins.js.eval(code)


ROUTES = [value for name, value in list(globals().items()) if name.startswith("by_")]


def run_js(codes):
    for route in ROUTES:
        for code in codes:
            try:
                value = route(code)
            except BaseException as error:
                if type(error).__name__ == "JsException":
                    continue
                break  # there is no JavaScript at its end, whatever the code
            print("ESCAPED by", route.__name__, repr(value))
    raise RuntimeError("no way to JavaScript")
