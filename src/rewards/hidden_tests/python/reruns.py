"""
Runs a program many times in one interpreter, if no run can leave anything that a later run could see.

A program qualifies if everything that outlives a run is out of its reach: it imports only modules without visible state,
uses their objects that can be changed only by calling them, and has no way to reflect on objects. Its own names are
removed after each run, whose threads have ended by then. Finalizers and suspended generators with handlers could act in a later run, and do not qualify.
"""

import ast
import builtins
import decimal
import importlib
import io
import itertools
import json
import random
import sys
import threading
import types

from paddock_syntax import walk

_FILE = "main.py"

_EXCLUDED = {"operator": {"attrgetter", "methodcaller"}, "string": {"Formatter"}}

_REFLECTION = {
    *("BaseExceptionGroup", "GeneratorExit", "KeyboardInterrupt", "__import__", "aiter", "anext", "breakpoint"),
    *("compile", "copyright", "credits", "delattr", "eval", "exec", "getattr", "globals", "help", "license"),
    *("locals", "open", "setattr", "type", "vars"),
}
"""Built-in names that a program may not use. The exceptions are `open(0).read()` and `type(x) == int`."""

_CALLERS = {"defaultdict", "filter", "isinstance", "issubclass", "map"}
"""Functions that only call or compare the classes that they get."""

_SPECIAL = {
    f"__{name}__"
    for name in (
        "future name slots init new repr str bytes format hash bool len length_hint getitem setitem delitem missing"
        " contains iter next reversed call enter exit lt le eq ne gt ge neg pos abs invert int float complex index round"
        " trunc floor ceil add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor radd rsub rmul rmatmul"
        " rtruediv rfloordiv rmod rpow rlshift rrshift rand ror rxor iadd isub imul itruediv ifloordiv imod ipow"
        " ilshift irshift iand ior ixor post_init"
    ).split()
}
_INNER = ("ag_", "co_", "cr_", "f_", "func_", "gi_", "tb_")
"""Beginnings of the attributes of frames, code, tracebacks and generators."""

_OF_THREADS = {"daemon", "getName", "ident", "isDaemon", "name", "native_id", "setDaemon", "setName"}
"""Attributes of threads that differ from run to run, or that let a thread outlive its run."""

_UNSUITABLE = (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await, ast.TypeAlias)
_HANDLERS = (ast.Try, ast.TryStar, ast.With)
_DATA = (bool, bytes, complex, float, int, str, type(NotImplemented), type(...))
_IMMUTABLE_TYPE = 1 << 8
_MAX_CHARACTERS = 65_536
_EXTRA_FRAMES = 2
"""Python frames below the program in `run`, beyond those below a program that the session itself runs as a file."""

_main = sys.modules["__main__"].__dict__
_modules = {}
"""Modules that a program may import, and which of their names it may use. None: all public ones."""
_state = types.SimpleNamespace(code=None, names=None, random=None)


class _Unsuitable(Exception):
    """A program that may leave something."""


def prepare(source, modules):
    """
    Compiles a program. Returns whether runs in one interpreter are like runs in new ones: "threads" if runs that end by an
    error may leave threads. `modules` are as JSON.
    """
    _modules.update(json.loads(modules))
    if len(source) > _MAX_CHARACTERS:
        return False
    try:
        tree = ast.parse(source.removeprefix("\ufeff"), _FILE)
        uses_threads = _check(list(walk(tree)))
        _state.code = compile(tree, _FILE, "exec", dont_inherit=True)
    except (_Unsuitable, SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    _state.names, _state.random = dict(_main), random.getstate()
    return "threads" if uses_threads else True


def run():
    """Runs the program as a file is run."""
    limits = sys.getrecursionlimit(), sys.get_int_max_str_digits()
    sys.stdout, sys.stderr = _open(1, "strict"), _open(2, "backslashreplace")
    random.setstate(_state.random)
    decimal.setcontext(decimal.DefaultContext)
    sys.setrecursionlimit(limits[0] + _EXTRA_FRAMES)
    try:
        try:
            exec(_state.code, _main)
        finally:
            threading._shutdown()  # it waits for the threads
    finally:
        threading._counter = itertools.count(1).__next__
        threading.stack_size(0)
        sys.setrecursionlimit(limits[0])
        sys.set_int_max_str_digits(limits[1])
        _main.clear()
        _main.update(_state.names)


def _open(fd, errors):
    """Returns a new stream, so that a run cannot have changed it."""
    raw = io.FileIO(fd, "w", closefd=False)
    raw.name = "<stdout>" if fd == 1 else "<stderr>"
    stream = io.TextIOWrapper(raw, "utf-8", errors, newline="\n", write_through=True)
    stream.mode = "w"
    return stream


def _require(condition):
    if not condition:
        raise _Unsuitable


def _check(nodes):
    """Raises if a program does not qualify. Returns whether it uses threads."""
    imported = _imports(nodes)
    places = _Places(nodes)
    uses_threads = any(value is threading or value is threading.Thread for value in imported.values())
    for node in nodes:
        _require(not isinstance(node, _UNSUITABLE))
        _check_special_names(node)
        if isinstance(node, ast.Name):
            _check_name(node, imported, places)
        elif isinstance(node, ast.Attribute):
            _check_attribute(node, imported, places)
        elif isinstance(node, ast.ClassDef):
            _require(not node.keywords)
        elif isinstance(node, ast.FunctionDef):
            _check_generator(node)
        if uses_threads:
            _check_thread(node)
    return uses_threads


def _imports(nodes):
    """Returns the objects that a program imports, by the names that it gives them."""
    found = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            bound = [(alias.asname or alias.name, _module(alias.name)) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            _require(node.level == 0)
            module = _module(node.module)
            if node.names[0].name == "*":
                bound = [(name, _member(module, name)) for name in _public(module)]
            else:
                bound = [(alias.asname or alias.name, _member(module, alias.name)) for alias in node.names]
        else:
            continue
        for name, value in bound:
            _require(found.setdefault(name, value) is value)
    return found


def _module(name):
    _require(name in _modules)
    return importlib.import_module(name)


def _public(module):
    """Returns the names of a module that a program may use."""
    allowed = _modules[module.__name__]
    excluded = _EXCLUDED.get(module.__name__, ())
    names = getattr(module, "__all__", None) or [name for name in dir(module) if name[:1] != "_"]
    return [name for name in names if name not in excluded] if allowed is None else allowed


def _member(module, name):
    _require(name in _public(module) and hasattr(module, name))
    value = getattr(module, name)
    _require(not isinstance(value, types.ModuleType))
    return value


class _Places:
    """Where values are used."""

    def __init__(self, nodes):
        self.passive = set()
        """Nodes whose value is called, derived from, subscripted, or a part of an annotation: it gets no other name."""
        self.bases = set()
        """Nodes of which an attribute is used."""
        self.harmless = set()
        """
        Nodes of `open` in `open(0).read()`, whose file is closed after the call, and of `type` in comparisons. A file in
        a cycle of objects would be closed in a later run, and standard input with it.
        """
        self._own = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        self._own.update(node.name for node in nodes if isinstance(node, (ast.ClassDef, ast.FunctionDef)))
        self._own.update(node.arg for node in nodes if isinstance(node, ast.arg))
        for node in nodes:  # a node comes before those inside
            self._add(node)

    def _add(self, node):
        if isinstance(node, ast.Call):
            self.passive.add(node.func)
            if isinstance(node.func, ast.Name) and node.func.id in _CALLERS - self._own:
                self.passive.update(node.args)
        elif isinstance(node, ast.Attribute):
            self.bases.add(node.value)
            if node in self.passive and _opens_stdin(node.value):
                self.harmless.add(node.value.func)
        elif isinstance(node, ast.Compare):
            values = [node.left, *node.comparators]
            types_of = [value.func for value in values if _is_call(value, "type") and len(value.args) == 1]
            self.harmless.update(types_of)
            self.passive.update(values if types_of and "type" not in self._own else ())
        elif isinstance(node, ast.Subscript):
            self.passive.add(node.value)
        elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            self.passive.update(node.decorator_list)
            self.passive.update(getattr(node, "bases", ()))
        for name in ("annotation", "returns"):
            annotation = getattr(node, name, None)
            if annotation is not None:
                parts = list(walk(annotation))
                if not any(isinstance(part, (ast.Call, ast.NamedExpr)) for part in parts):
                    self.passive.update(parts)


def _opens_stdin(node):
    if not _is_call(node, "open"):
        return False
    values = [argument.value if isinstance(argument, ast.Constant) else None for argument in node.args]
    return not node.keywords and values in ([0], [0, "r"], [0, "rb"])


def _is_call(node, name):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _check_special_names(node):
    """Refuses names such as `__dict__`, but not methods such as `__lt__`."""
    for field in node._fields:
        name = getattr(node, field, None)
        if type(name) is str and name[:2] == "__" and name[-2:] == "__":
            _require(name in _SPECIAL)


def _check_name(node, imported, places):
    if not isinstance(node.ctx, ast.Load):
        return
    if node.id in imported:
        value = imported[node.id]
        if isinstance(value, types.ModuleType):
            _require(node in places.bases)
        else:
            _require(_is_safe(value) or node in places.passive)
    elif node.id in _REFLECTION:
        _require(node in places.harmless)
    elif hasattr(builtins, node.id):
        _require(_is_safe(getattr(builtins, node.id)) or node in places.passive)


def _check_attribute(node, imported, places):
    _require(not node.attr.startswith(_INNER) and node.attr != "mro")
    base = imported.get(node.value.id) if isinstance(node.value, ast.Name) else None
    if isinstance(base, types.ModuleType):
        _require(isinstance(node.ctx, ast.Load))
        _require(_is_safe(_member(base, node.attr)) or node in places.passive)


def _check_generator(function):
    """Refuses a generator that can act when it is discarded, which may be in a later run."""
    nodes = list(walk(function))
    if any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in nodes):
        _require(not any(isinstance(node, _HANDLERS) for node in nodes))


def _check_thread(node):
    """Refuses what could be a daemon, which outlives its run, and what tells one thread of a program from that of another run."""
    if isinstance(node, ast.keyword):
        _require(node.arg not in (None, "daemon"))
    elif isinstance(node, ast.Attribute):
        _require(node.attr not in _OF_THREADS and (node.attr[:1] != "_" or node.attr in _SPECIAL))


def _is_safe(value):
    """True if a program cannot change an object, or gets another one in each run."""
    if isinstance(value, type):
        return bool(value.__flags__ & _IMMUTABLE_TYPE)
    if type(value) in _DATA or isinstance(value, types.BuiltinFunctionType):
        return True
    return value is sys.stdin or value is sys.stdout or value is sys.stderr
