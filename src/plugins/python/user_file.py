"""Loads a Python file of a user and calls its functions, in a session that no program of a model enters.

The host writes a request to stdin and reads the reply, a JSON text, as the value of `serve`. Nothing that a user's file
does is an exception of this module: a failure is a reply with the line of the user's file.
"""

import ast
import importlib.abc
import importlib.util
import inspect
import json
import linecache
import sys
import traceback
import types
import typing

_MAX_TEXT = 2_000

_sources = {}
"""Sources of the user's file and of those that it imports: `{ module: (path, text, is_package) }`."""
_paths = set()
"""Paths of these sources, as tracebacks show them."""
_module = None


class Problem(Exception):
    """A file that does not keep its contract. `line` is the place in the user's file."""

    def __init__(self, message, line=None):
        super().__init__(message)
        self.line = line


def serve():
    request = json.loads(sys.stdin.read())
    try:
        reply = {"value": ACTIONS[request["do"]](request)}
        return json.dumps(reply, allow_nan=False)
    except Problem as problem:
        return json.dumps({"failed": {"message": str(problem), "path": _path_of_module(), "line": problem.line}})
    except (Exception, SystemExit) as error:
        return json.dumps({"failed": _failure_of(error)})


def _path_of_module():
    return _sources[_module][0] if _module in _sources else None


# --- failures


def _failure_of(error):
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in _paths]
    path, line = (frames[-1].filename, frames[-1].lineno) if frames else (None, None)
    text = str(error)[:_MAX_TEXT]
    if isinstance(error, SyntaxError) and error.filename in _paths:
        path, line = error.filename, error.lineno
        text = error.msg[:_MAX_TEXT]  # str() repeats the place
    name = type(error).__name__
    message = f"{name}: {text}" if text else name
    failed = {"message": message, "path": path, "line": line, "traceback": _traceback_of(error)}
    if isinstance(error, ModuleNotFoundError):
        failed["missing"] = (error.name or "").partition(".")[0]
    return failed


def _traceback_of(error):
    shown = traceback.TracebackException.from_exception(error)
    seen = set()
    waiting = [shown]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        starts = [index for index, frame in enumerate(each.stack) if frame.filename in _paths]
        del each.stack[: starts[0] if starts else len(each.stack)]
        waiting += [each.__cause__, each.__context__]
    return "".join(shown.format())


# --- loading


def _imports(request):
    """Returns the names of the modules that a source imports anywhere, to find them beside it."""
    path, text = request["path"], request["text"]
    _paths.add(path)
    _remember_lines(path, text)
    names = set()
    for node in ast.walk(ast.parse(text, path)):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level == 0 and node.module:
                names.add(node.module.partition(".")[0])
    return sorted(names)


class _Loader(importlib.abc.Loader):
    def __init__(self, name):
        self._name = name

    def exec_module(self, module):
        path, text, _is_package = _sources[self._name]
        module.__file__ = path
        exec(compile(text, path, "exec", dont_inherit=True), module.__dict__)

    def get_source(self, _name):
        return _sources[self._name][1]


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name not in _sources:
            return None
        return importlib.util.spec_from_loader(name, _Loader(name), is_package=_sources[name][2])


def _load(request):
    global _module
    _module = request["module"]
    for name, (path, text, is_package) in request["sources"].items():
        _sources[name] = (path, text, is_package)
        _paths.add(path)
        _remember_lines(path, text)
    sys.meta_path.insert(0, _Finder())
    for name in [name for name in sys.modules if name.partition(".")[0] in _sources]:
        del sys.modules[name]  # a file of the user goes before a module of the same name
    importlib.import_module(_module)
    return CONTRACTS[request["kind"]](sys.modules[_module])


def _remember_lines(path, text):
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)


# --- functions of the file


def user_module():
    return sys.modules[_module]


def shown(value):
    """Returns a value for a message."""
    text = repr(value)
    if len(text) > 80:
        text = f"{text[:80]}…"
    return f"{text}, a value of type {type(value).__name__}"


def line_of(function):
    code = getattr(inspect.unwrap(function), "__code__", None)
    return None if code is None else code.co_firstlineno


def functions_of(module):
    return [
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    ]


def require_function(module, name, example):
    function = getattr(module, name, None)
    if function is None:
        found = ", ".join(f"{each}()" for each in functions_of(module)) or "no function"
        raise Problem(f"it must define a function '{name}', as in '{example}': found {found}")
    if not callable(function):
        raise Problem(f"'{name}' must be a function, as in '{example}': found a value of type {type(function).__name__}")
    return function


_TYPES = {
    "completion": str,
    "reply": str,
    "query": str,
    "answer": str,
    "messages": list,
    "task": dict,
    "fields": dict,
}
"""Types of the values that a call passes, by the name of the parameter. A query may also be a list of messages."""
_PLAIN = (str, int, float, complex, bool, bytes, list, tuple, dict, set)


def _require_type(parameter, name, hint, line):
    """Refuses a plain type that the value of a parameter never has: `answer: int` would compare a text with numbers."""
    right = _TYPES.get(parameter.name)
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    kinds = [typing.get_origin(each) or each for each in (typing.get_args(hint) if is_union else (hint,))]
    kinds = [kind for kind in kinds if kind is not type(None)]
    if right is None or not kinds or any(kind is right or kind not in _PLAIN for kind in kinds):
        return
    if parameter.name == "query" and list in kinds:
        return
    advice = f"; write '{parameter.name}: str' and convert it, as in float({parameter.name})" if right is str else ""
    raise Problem(
        f"the parameter '{parameter.name}' of {name}() is always of type {right.__name__}: its type hint is "
        f"'{inspect.formatannotation(hint)}'{advice}",
        line,
    )


def _hints_of(function):
    """Returns the type hints of a function. A hint that cannot be evaluated says nothing."""
    try:
        return typing.get_type_hints(function)
    except Exception:
        return {}


def parameters_of(function, name):
    """Returns the parameters of a function that is called with names."""
    parameters = list(inspect.signature(function).parameters.values())
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            raise Problem(
                f"{name}() is called with names, so that its parameters must have names: found '{parameter}'",
                line_of(function),
            )
    return parameters


def require_parameters(function, name):
    """Checks the parameters of a function that is called with names, and their type hints."""
    hints = _hints_of(function)
    for parameter in parameters_of(function, name):
        if parameter.name in hints:
            _require_type(parameter, name, hints[parameter.name], line_of(function))


def call_by_names(function, name, values, extras, known):
    """Calls a function with those of the values that its parameters name. `extras` are the columns of the task."""
    given = {}
    parameters = parameters_of(function, name)
    named = {parameter.name for parameter in parameters}
    for parameter in parameters:
        if parameter.kind == parameter.VAR_KEYWORD:
            given.update({key: value for key, value in {**extras, **values}.items() if key not in named})
        elif values.get(parameter.name) is not None:
            given[parameter.name] = values[parameter.name]
        elif parameter.name in extras:
            given[parameter.name] = extras[parameter.name]
        elif parameter.default is not parameter.empty:
            pass
        elif parameter.name in known:
            given[parameter.name] = None
        else:
            columns = ", ".join(map(repr, extras)) or "it has none"
            raise Problem(
                f"the parameter '{parameter.name}' of {name}() must be one of {', '.join(known)}, or a column of the "
                f"task: {columns}",
                line_of(function),
            )
    return result_of(function(**given))


def result_of(value):
    if not inspect.isawaitable(value):
        return value
    import asyncio

    async def wait():
        return await value

    return asyncio.run(wait())


CONTRACTS = {}
"""Functions by kind of file, which check a module and describe it for the host."""
ACTIONS = {"imports": _imports, "load": _load}
"""Functions by the name of a request."""
