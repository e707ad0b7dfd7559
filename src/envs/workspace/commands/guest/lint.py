"""Finds errors in a Python file before it runs: syntax, indentation and undefined names."""

import ast
import builtins
import functools
import importlib.util
import typing
import warnings


class Fault(typing.NamedTuple):
    """One finding, with its flake8 code."""

    line: int
    column: int
    code: str
    message: str


def find_faults(data, name):
    """Returns the findings in a file's bytes, by line: the first syntax error, or else F821, F822 and E111."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            # compile first: code that is too deep for it would crash the conversion to a tree
            compile(data, name, "exec", dont_inherit=True)
            tree = compile(data, name, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            return [_syntax_fault(error)]
        except (RecursionError, MemoryError):
            return [Fault(1, 1, "E999", "SyntaxError: the code is nested too deeply")]
    try:
        return sorted(_indentation_faults(tree, data) + _name_faults(tree, name))
    except RecursionError:
        return []  # too deep for the visitor, but it compiles


def new_faults(before, after, *, first, removed, added):
    """
    Returns the new findings of `after`. The edit replaced `removed` lines from line `first` on by `added` lines.

    Findings outside of the edit may stay. A file with a syntax error may get to its next syntax error, because only the
    first one is known.
    """
    end, shift = first + removed, added - removed
    kept = {fault._replace(line=fault.line + (shift if fault.line >= end else 0)) for fault in before}
    kept = {fault for fault in kept if not first <= fault.line < first + added}
    was_broken = any(fault.code in SYNTAX for fault in before)
    was_uneven = any(fault.code == "E111" for fault in before)

    def is_new(fault):
        if fault in kept or (was_uneven and fault.code == "E111"):
            return False
        inside = first <= fault.line < first + added
        return inside or not was_broken or (fault.code in SYNTAX and fault.line < first)

    return [fault for fault in after if is_new(fault)]


SYNTAX = ("E112", "E113", "E902", "E999", "F831")


def _syntax_fault(error):
    line, column = getattr(error, "lineno", None) or 1, getattr(error, "offset", None) or 1
    message = getattr(error, "msg", None) or str(error)
    code = "E999"
    if message.startswith("expected an indented block"):
        code = "E112"
    elif message == "unexpected indent":
        code = "E113"
    elif message.startswith("duplicate argument") or message.startswith("duplicate parameter"):
        code = "F831"
    elif "decode" in message or "encoding" in message:
        code = "E902"
    return Fault(line, max(1, column), code, f"{type(error).__name__}: {message}")


def _indentation_faults(tree, data):
    """Returns lines of code whose indentation is not a multiple of four; a tab counts up to the next multiple of eight."""
    lines = data.split(b"\n")
    found = set()
    for node in _statements(tree):
        if node.lineno > len(lines):
            continue
        line = lines[node.lineno - 1]
        indent = line[: len(line) - len(line.lstrip(b" \t\f"))]
        if len(indent) == node.col_offset and len(indent.expandtabs(8)) % 4:
            found.add(Fault(node.lineno, len(indent) + 1, "E111", "indentation is not a multiple of 4"))
    return list(found)


def _statements(tree):
    """Yields all statements of a tree. Expressions contain none, so they are skipped."""
    pending = [tree]
    while pending:
        node = pending.pop()
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            pending += getattr(node, part, ())
        if isinstance(node, ast.stmt):
            yield node


def _name_faults(tree, name):
    checker = _pyflakes()
    if checker is not None:
        return _pyflakes_faults(checker, tree, name)
    names = _Names()
    names.visit(tree)
    return names.faults(is_package=name.endswith("__init__.py"))


@functools.cache
def _pyflakes():
    """Returns the module `pyflakes.checker` if the profile has the package. A folder of the workspace does not count."""
    try:
        spec = importlib.util.find_spec("pyflakes")
        if spec is None or "/site-packages/" not in (spec.origin or ""):
            return None
        return importlib.import_module("pyflakes.checker")
    except Exception:
        return None  # a damaged package: the rules below are used


PYFLAKES_CODES = {"UndefinedName": "F821", "UndefinedExport": "F822", "DuplicateArgument": "F831"}
"""flake8's codes of the messages of pyflakes."""


def _pyflakes_faults(checker, tree, name):
    """Returns the findings of pyflakes with these codes."""
    return [
        Fault(found.lineno, found.col + 1, PYFLAKES_CODES[type(found).__name__], found.message % found.message_args)
        for found in checker.Checker(tree, filename=name).messages
        if type(found).__name__ in PYFLAKES_CODES
    ]


KNOWN = set(dir(builtins)) | {
    "__annotations__",
    "__annotate__",
    "__builtins__",
    "__cached__",
    "__class__",
    "__classdict__",
    "__conditional_annotations__",
    "__doc__",
    "__file__",
    "__firstlineno__",
    "__loader__",
    "__module__",
    "__name__",
    "__package__",
    "__path__",
    "__qualname__",
    "__spec__",
    "__static_attributes__",
    "WindowsError",
}


class _Scope:
    def __init__(self, kind, parent):
        self.kind = kind
        self.parent = parent
        self.names = set()
        self.globals = set()


class _Names(ast.NodeVisitor):
    """Collects the names that each scope binds and uses. The order of binding and use does not matter."""

    def __init__(self):
        self.module = self.scope = _Scope("module", None)
        self.uses = []
        self.exported = []
        self.is_open = False
        """True if names may be defined dynamically."""
        self.tolerant = 0

    def faults(self, *, is_package):
        if self.is_open:
            return []
        found = [
            Fault(node.lineno, node.col_offset + 1, "F821", f"undefined name '{name}'")
            for name, node, scope in self.uses
            if not self._is_bound(name, scope)
        ]
        if is_package or "__getattr__" in self.module.names:
            return found
        return found + [
            Fault(node.lineno, node.col_offset + 1, "F822", f"undefined name '{node.value}' in __all__")
            for node in self.exported
            if node.value not in self.module.names | KNOWN
        ]

    def _is_bound(self, name, scope):
        sees_class = True
        while scope is not None:
            if name in scope.globals:
                scope = self.module
            if name in scope.names and (scope.kind != "class" or sees_class):
                return True
            sees_class = sees_class and scope.kind == "annotation"
            scope = scope.parent
        return name in KNOWN

    def _bind(self, name, scope=None):
        scope = scope or self.scope
        (self.module if name in scope.globals else scope).names.add(name)

    def _use(self, name, node):
        if not self.tolerant:
            self.uses.append((name, node, self.scope))

    def _within(self, kind, work):
        outer, self.scope = self.scope, _Scope(kind, self.scope)
        work()
        self.scope = outer

    def _visit_all(self, *nodes):
        for node in nodes:
            if isinstance(node, list):
                self._visit_all(*node)
            elif node is not None:
                self.visit(node)

    def visit_Constant(self, node):
        """Ignores constants."""

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Store):
            self._bind(node.id)
        else:
            self._use(node.id, node)

    def visit_NamedExpr(self, node):
        self.visit(node.value)
        scope = self.scope
        while scope.kind == "comprehension":
            scope = scope.parent
        self._bind(node.target.id, scope)

    def visit_AugAssign(self, node):
        """`x += 1` uses `x`, so `x` must be defined."""
        if isinstance(node.target, ast.Name):
            self._use(node.target.id, node.target)
            if node.target.id == "__all__":
                self._export(node.value)
        else:
            self.visit(node.target)
        self.visit(node.value)

    def visit_Assign(self, node):
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets):
            self._export(node.value)
        if any(_is_call(getattr(target, "value", None), "globals", "vars", "locals") for target in node.targets):
            self.is_open = True
        self.generic_visit(node)

    def _export(self, value):
        if self.scope is not self.module:
            return
        if isinstance(value, ast.BinOp):
            self._export(value.left)
            self._export(value.right)
        elif isinstance(value, (ast.List, ast.Tuple)):
            texts = [item for item in value.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)]
            self.exported += texts

    def visit_Call(self, node):
        """Names that `exec`, a dictionary of names or an enum defines are not visible in the source."""
        if _is_call(node, "exec", "globals") and self.scope.kind in ("module", "class"):
            self.is_open = True
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("update", "setdefault", "_convert_"):
            target = node.func.value
            is_names = _is_call(target, "globals", "vars", "locals") or getattr(target, "attr", "") == "__dict__"
            self.is_open = self.is_open or is_names or node.func.attr == "_convert_"
        self.generic_visit(node)

    def visit_Global(self, node):
        self.scope.globals.update(node.names)
        self.module.names.update(node.names)

    def visit_Import(self, node):
        for alias in node.names:
            self._bind(alias.asname or alias.name.split(".")[0])

    def visit_ImportFrom(self, node):
        for alias in node.names:
            if alias.name == "*":
                self.is_open = True
            else:
                self._bind(alias.asname or alias.name)

    def visit_FunctionDef(self, node):
        self._bind(node.name)
        self._visit_all(node.decorator_list, _defaults(node.args))
        self._with_parameters(node, lambda: self._function(node))

    visit_AsyncFunctionDef = visit_FunctionDef

    def _function(self, node):
        self._visit_all([argument.annotation for argument in _arguments(node.args)], node.returns)
        self._within("function", lambda: self._body(node.args, node.body))

    def visit_Lambda(self, node):
        self._visit_all(_defaults(node.args))
        self._within("function", lambda: self._body(node.args, [node.body]))

    def _body(self, arguments, body):
        for argument in _arguments(arguments):
            self._bind(argument.arg)
        self._visit_all(body)

    def visit_ClassDef(self, node):
        self._bind(node.name)
        if any("global_enum" in (getattr(each, "id", ""), getattr(each, "attr", "")) for each in node.decorator_list):
            self.is_open = True
        self._visit_all(node.decorator_list)
        self._with_parameters(node, lambda: self._class(node))

    def _class(self, node):
        self._visit_all(node.bases, node.keywords)
        self._within("class", lambda: self._visit_all(node.body))

    def visit_TypeAlias(self, node):
        self.visit(node.name)
        self._with_parameters(node, lambda: self._within("annotation", lambda: self.visit(node.value)))

    def _with_parameters(self, node, work):
        """Type parameters have their own scope around the function or class."""
        if not getattr(node, "type_params", None):
            return work()

        def inside():
            for parameter in node.type_params:
                self._bind(parameter.name)
            self._visit_all(node.type_params)
            work()

        return self._within("annotation", inside)

    def _comprehension(self, node):
        first, *others = node.generators
        self.visit(first.iter)

        def inside():
            self._visit_all(first.target, first.ifs, others)
            self._visit_all(*(getattr(node, part, None) for part in ("key", "value", "elt")))

        self._within("comprehension", inside)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_ExceptHandler(self, node):
        if node.name:
            self._bind(node.name)
        self.generic_visit(node)

    def visit_Try(self, node):
        """Code that catches NameError may use undefined names on purpose."""
        is_tolerant = any(_catches_name_error(handler.type) for handler in node.handlers)
        self.tolerant += is_tolerant
        self._visit_all(node.body)
        self.tolerant -= is_tolerant
        self._visit_all(node.handlers, node.orelse, node.finalbody)

    visit_TryStar = visit_Try

    def visit_MatchAs(self, node):
        if node.name:
            self._bind(node.name)
        self.generic_visit(node)

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node):
        if node.rest:
            self._bind(node.rest)
        self.generic_visit(node)


def _arguments(arguments):
    single = [argument for argument in (arguments.vararg, arguments.kwarg) if argument]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *single]


def _defaults(arguments):
    return [*arguments.defaults, *arguments.kw_defaults]


def _is_call(node, *names):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def _catches_name_error(caught):
    if caught is None:
        return True
    kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(isinstance(kind, ast.Name) and kind.id == "NameError" for kind in kinds)
