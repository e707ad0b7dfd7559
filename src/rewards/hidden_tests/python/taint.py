"""
Finds what the course of tests depends on: only on the tests, or also on the candidate. Names are looked at without
their scopes, and every doubt counts as dependence on the candidate.
"""

import ast

from paddock_syntax import children, walk

PURE = frozenset(
    "abs all any bool bytes chr dict divmod enumerate float frozenset int len list max min ord pow range repr reversed "
    "round set sorted str sum tuple zip".split()
)
"""Built-in functions that only compute a value."""

EFFECTS = frozenset("environ mock os patch random seed stdin sys".split())
"""Names by which tests can change what a call of the candidate depends on beside its arguments."""

_LOOPS = (ast.For, ast.AsyncFor, ast.comprehension)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Taint:
    """
    The names whose values come from the candidate, or whose calls call it. `names` are those that the tests take from
    the candidate. The result of the call `plain`, if given, counts as a value of the tests.
    """

    def __init__(self, trees, names, plain=None):
        self.names = set(names)
        self._plain = plain
        self._inner = {}
        for tree in trees:
            self._keep_named(tree)
        self._functions = {node.name: node for node in self._inner if isinstance(node, _FUNCTIONS)}
        known = -1
        while known != len(self.names):
            known = len(self.names)
            for tree in trees:
                self._visit(tree, False)

    def _keep_named(self, node):
        """Keeps the nodes that contain a name. Tests have long lists of numbers, which are no concern here."""
        kept = [child for child in children(node) if self._keep_named(child)]
        if kept or isinstance(node, (ast.Name, ast.Return, *_FUNCTIONS)):
            self._inner[node] = kept
        return node in self._inner

    def has(self, node):
        """Returns whether the value of an expression, or its evaluation, depends on the candidate."""
        if node not in self._inner or node is self._plain:
            return False
        if isinstance(node, ast.Name):
            return node.id in self.names
        return any(map(self.has, self._inner[node]))

    def reaches(self, name):
        """Returns whether the use of a name can reach the candidate: by a function of the tests beyond its arguments."""
        function = self._functions.get(name)
        if function is None:
            return name in self.names or name in EFFECTS
        own = {arg.arg for arg in walk(function.args) if isinstance(arg, ast.arg)} | {name}
        used = {node.id for node in walk(function) if isinstance(node, ast.Name)} - own
        return any(other in self._functions or other in self.names or other in EFFECTS for other in used)

    def bounds_loops(self, tree):
        """Returns whether the candidate cannot influence how often loops of a tree run."""
        return not any(self._is_unbounded(node) for node in walk(tree))

    def has_arguments(self, tree):
        """Returns whether a call of the candidate gets a value that comes from the candidate."""
        return any(
            isinstance(node, ast.Call) and self.has(node.func) and any(map(self.has, _arguments(node)))
            for node in walk(tree)
        )

    def _is_unbounded(self, node):
        if isinstance(node, ast.While):
            return isinstance(node.test, ast.Constant) or self.has(node.test)
        if isinstance(node, _FUNCTIONS):
            calls = [call.func for call in walk(node) if isinstance(call, ast.Call)]
            return any(isinstance(func, ast.Name) and func.id == node.name for func in calls)
        return isinstance(node, _LOOPS) and self.has(node.iter)

    def _visit(self, node, is_dependent):
        """Adds the names that a node binds or changes. `is_dependent` if it only runs when the candidate lets it."""
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
            if is_dependent or self.has(node.value):
                self._add(*(node.targets if isinstance(node, ast.Assign) else [node.target]))
        elif isinstance(node, _LOOPS) and (is_dependent or self.has(node.iter)):
            self._add(node.target)
        elif isinstance(node, ast.withitem) and self.has(node.context_expr):
            self._add(node.optional_vars)
        elif isinstance(node, _FUNCTIONS) and any(map(self.has, _results(node))):
            self.names.add(node.name)
        elif isinstance(node, ast.Call) and node is not self._plain:
            self._visit_call(node)
        for child in self._inner.get(node, ()):
            self._visit(child, is_dependent or self._decides(node, child))

    def _visit_call(self, call):
        """A call can put an argument that depends on the candidate into its other arguments, and into what it is a method of."""
        if not any(map(self.has, _arguments(call))):
            return
        called = call.args[0] if is_call_of(call, {"__in_place__"}) else call.func
        name = called.id if isinstance(called, ast.Name) else ""
        function = self._functions.get(name)
        if function is not None:
            self.names.update(arg.arg for arg in walk(function.args) if isinstance(arg, ast.arg))
        elif name not in PURE:
            is_assertion = isinstance(called, ast.Attribute) and called.attr.startswith("assert")
            self._add(*_arguments(call), *([] if is_assertion or name else [called]))

    def _decides(self, node, child):
        if isinstance(node, ast.Try):
            return self.has(node)
        if isinstance(node, (ast.If, ast.IfExp, ast.While)):
            return child is not node.test and self.has(node.test)
        return isinstance(node, _LOOPS) and child is not node.iter and self.has(node.iter)

    def _add(self, *targets):
        for target in targets:
            self.names.update(root for root in map(root_of, _parts(target)) if root)


def _results(function):
    """Returns the expressions whose values a function returns or yields."""
    return [node.value for node in walk(function) if isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom))]


def _arguments(call):
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _parts(target):
    """Returns the expressions that a target consists of."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return [part for item in target.elts for part in _parts(item)]
    return [target.value if isinstance(target, ast.Starred) else target]


def root_of(node):
    """Returns the name at the beginning of `a.b[c]`; an empty text if there is none."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def is_call_of(node, names):
    """Returns whether a node calls one of these functions by its name."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
