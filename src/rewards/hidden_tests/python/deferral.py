"""
Finds what tests do with the candidate without a need for its result: assertions, which may be judged later, and calls
whose results are discarded. `paddock_ahead` sends these calls together, in their order.

Nothing is deferred where a test could see the difference: in what catches exceptions, and beside clocks and threads.
"""

import ast

from paddock_syntax import children, walk
from paddock_taint import PURE, is_call_of, root_of

MAX_ROUNDS = 4
"""Maximum number of passes that search variables of which only assertions know."""

_OBSERVERS = frozenset(
    "clock gc inspect monotonic multiprocessing now perf_counter process_time settrace signal thread_time threading "
    "concurrent time timeit timing traceback tracemalloc weakref monotonic_ns perf_counter_ns process_time_ns time_ns "
    "eval exec globals locals vars".split()
)
"""Names by which tests can see when a call is made, or where its result is kept."""

_CATCHERS = ("Raises", "Warns", "Logs")
"""Parts of the names of methods of a test case that catch exceptions."""

_UNSAFE = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)
_JUDGES = frozenset((*PURE, "isinstance", "type", "hasattr", "callable", "__is_not__"))
_MODULES = frozenset(("math", "unittest"))
_OF_DATA = frozenset(name for kind in (str, list, tuple, dict, set, float) for name in dir(kind))
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class _NotDeferrable(Exception):
    """A statement has to run as it is."""


class Deferral:
    """
    What can run instead of the statements of tests. `names` are those whose values may be the candidate's.

    - `calls`: the calls whose results only assertions need
    """

    def __init__(self, trees, names):
        nodes = [node for tree in trees for node in walk(tree)]
        bound = _bound(nodes)
        self._names = names
        self._has_unsafe = any(isinstance(node, _UNSAFE) for node in nodes)
        self._builtins = _JUDGES - bound - names
        self._modules = _MODULES - names
        self._variables = frozenset()
        self._parts = []
        self._methods = [node for node in nodes if isinstance(node, ast.Call) and self._is_one_request(node)]
        self._blocks = []
        self._changes = {}
        self.calls = set()
        if not _OBSERVERS.isdisjoint(name for node in nodes for name in _mentioned(node)):
            return
        guarded = _guarded(nodes)
        self._blocks = [block for node in nodes if node not in guarded for block in _blocks(node)]
        statements = [statement for block in self._blocks for statement in block]
        self._find_variables(nodes, statements)
        self.calls.clear()
        for statement in statements:
            changed = self._changed(statement)
            if changed != [statement]:
                self._changes[statement] = changed

    def apply(self):
        """Changes the tests."""
        for block in self._blocks:
            block[:] = [changed for statement in block for changed in self._changes.get(statement, [statement])]
        for call in self._methods:
            if isinstance(call.func, ast.Attribute):
                invoked(call)

    def keep(self, call):
        """Keeps a statement that only makes a call as it is: with a batch of its own."""
        for statement in [one for one in self._changes if isinstance(one, ast.Expr) and one.value is call]:
            del self._changes[statement]
        if isinstance(call.func, ast.Attribute):
            invoked(call)

    def replace(self, statement, statements):
        """Lets statements run instead of one. Returns whether that is possible."""
        is_possible = any(statement in block for block in self._blocks)
        if is_possible:
            self._changes[statement] = statements
        return is_possible

    def _is_one_request(self, call):
        is_plain = _is_method(call.func, self._names) and _are_plain(call.args, call.keywords)
        return is_plain or is_method_of_made(call, self._names)

    def _find_variables(self, nodes, statements):
        """Finds the variables that hold results of which only deferred assertions know."""
        stores, loads = {}, {}
        for node in nodes:
            if isinstance(node, ast.Name):
                counts = loads if isinstance(node.ctx, ast.Load) else stores
                counts[node.id] = counts.get(node.id, 0) + 1
        results = {}
        of_classes = {part for node in nodes if isinstance(node, ast.ClassDef) for part in node.body}
        for statement in statements:
            name = self._stored(statement)
            if name and statement not in of_classes:
                results[name] = results.get(name, 0) + 1
        bound = _bound([node for node in nodes if not isinstance(node, ast.Name)])
        found = {name for name in results if results[name] == stores[name] and name in loads and name not in bound}
        for _ in range(MAX_ROUNDS):
            self._variables = frozenset(found)
            judged = {}
            for statement in statements:
                used = [node.id for node in walk(statement) if isinstance(node, ast.Name)] if found else []
                if not found.isdisjoint(used) and self._changed(statement) != [statement]:
                    for name in used:
                        judged[name] = judged.get(name, 0) + 1
            kept = {name for name in found if judged.get(name, 0) == stores[name] + loads.get(name, 0)}
            if kept == found:
                return
            found = kept
        self._variables = frozenset()

    def _changed(self, statement):
        """Returns what runs instead of a statement."""
        try:
            if isinstance(statement, ast.Assert):
                changed = [self._judged(True, test) for test in _conjuncts(statement.test)]
            elif isinstance(statement, ast.Assign):
                changed = [self._assigned(statement)]
            elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                changed = [ast.Expr(self._discarded(statement.value))]
            else:
                return [statement]
        except _NotDeferrable:
            return [statement]
        return [_located(one, statement) for one in changed]

    def _stored(self, statement):
        is_single = isinstance(statement, ast.Assign) and len(statement.targets) == 1
        if not is_single or not isinstance(statement.targets[0], ast.Name) or _is_new_object(statement.value, self._names):
            return None
        return statement.targets[0].id if self._later(statement.value) is not None else None

    def _assigned(self, statement):
        if self._stored(statement) not in self._variables:
            raise _NotDeferrable
        self.calls.add(statement.value)
        return ast.Assign(statement.targets, self._later(statement.value))

    def _judged(self, is_truth, test):
        if not self._has_result(test) or self._is_unsafe(test):
            raise _NotDeferrable
        self._parts = []
        body = self._path(test)
        count = len(self._parts)
        parameters = ast.arguments([], [ast.arg(_parameter(index)) for index in range(count)], None, [], [], None, [])
        check = _call("__check__", ast.Constant(is_truth), ast.Lambda(parameters, body), *self._parts)
        return ast.Expr(check)

    def _discarded(self, call):
        is_in_place = is_call_of(call, {"__in_place__"})
        made = ast.Name("__in_place__" if is_in_place else "__made__", ast.Load())
        function, args = (call.args[0], call.args[1:]) if is_in_place else (call.func, call.args)
        if _is_assertion(function):
            return self._judged(False, ast.copy_location(ast.Call(function, args, call.keywords), call)).value
        self._require_no_variables(call)
        if self._is_unsafe(call):
            raise _NotDeferrable
        if isinstance(function, ast.Name) and function.id in self._names:
            return _with_keywords(_call("__discard__", made, function, *args), call)
        if _is_method(function, self._names):
            if _are_plain(args, call.keywords):
                name = ast.Constant(function.attr)
                return _with_keywords(_call("__discard_method__", made, function.value, name, *args), call)
            return _with_keywords(_call("__discard__", made, function, *args), call)
        raise _NotDeferrable

    def _path(self, node):
        """Returns the expression that judges results. What it is judged with is computed before, and becomes a part."""
        later = self._later(node)
        if later is not None:
            self.calls.add(node)
            return self._part(later)
        if isinstance(node, ast.Name) and node.id in self._variables:
            return self._part(node)
        if not self._has_result(node):
            return node if isinstance(node, ast.Constant) else self._part(node)
        kind = type(node)
        if kind is ast.Compare:
            self._require_first(node.comparators[1:])
            return ast.Compare(self._path(node.left), node.ops, [self._path(other) for other in node.comparators])
        if kind is ast.BinOp:
            return ast.BinOp(self._path(node.left), node.op, self._path(node.right))
        if kind is ast.UnaryOp:
            return ast.UnaryOp(node.op, self._path(node.operand))
        if kind is ast.BoolOp:
            self._require_first(node.values[1:])
            return ast.BoolOp(node.op, [self._path(value) for value in node.values])
        if kind in (ast.Tuple, ast.List):
            return kind([self._path(item) for item in node.elts], node.ctx)
        if kind is ast.Attribute and self._is_of_result(node):
            return ast.Attribute(self._path(node.value), node.attr, node.ctx)
        if kind is ast.Subscript and self._has_result(node.value) and not self._has_result(node.slice):
            value = self._path(node.value)
            return ast.Subscript(value, self._slice(node.slice), node.ctx)
        if kind is ast.Call:
            return self._judging_call(node)
        raise _NotDeferrable

    def _judging_call(self, node):
        function = node.func
        if isinstance(function, ast.Name) and function.id in self._builtins:
            changed = function
        elif isinstance(function, ast.Attribute) and function.attr[:1] != "_":
            is_module = isinstance(function.value, ast.Name) and function.value.id in self._modules
            if is_module:
                changed = function
            elif self._is_of_result(function):
                changed = ast.Attribute(self._path(function.value), function.attr, function.ctx)
            elif _is_assertion(function):
                changed = self._part(function)
            else:
                raise _NotDeferrable
        else:
            raise _NotDeferrable
        args = [self._path(arg) for arg in node.args]
        keywords = [ast.keyword(keyword.arg, self._path(keyword.value)) for keyword in node.keywords]
        return ast.Call(changed, args, keywords)

    def _is_of_result(self, node):
        """Returns whether a node is an attribute of a result. One of a variable is that of data, not of an object."""
        is_of_data = root_of(node) not in self._variables or node.attr in _OF_DATA
        return is_of_data and node.attr[:1] != "_" and self._has_result(node.value)

    def _is_unsafe(self, node):
        """Returns whether the evaluation of an expression suspends the test, or binds a name."""
        return self._has_unsafe and any(isinstance(inner, _UNSAFE) for inner in walk(node))

    def _slice(self, node):
        if not isinstance(node, ast.Slice):
            return self._path(node)
        return ast.Slice(*[None if part is None else self._path(part) for part in (node.lower, node.upper, node.step)])

    def _require_first(self, others):
        """Raises if an expression that may not be evaluated is more than a name or a number."""
        for node in others:
            inner = node.operand if isinstance(node, ast.UnaryOp) else node
            if not isinstance(inner, (ast.Constant, ast.Name)) or self._has_result(node):
                raise _NotDeferrable

    def _part(self, node):
        if not isinstance(node, ast.Name) or node.id not in self._variables:
            self._require_no_variables(node)
        self._parts.append(node)
        return ast.Name(_parameter(len(self._parts) - 1), ast.Load())

    def _require_no_variables(self, *nodes):
        for node in nodes:
            if any(isinstance(inner, ast.Name) and inner.id in self._variables for inner in walk(node)):
                raise _NotDeferrable

    def _has_result(self, node):
        return any(
            isinstance(inner, ast.Name) and inner.id in self._variables or self._later(inner) is not None
            for inner in walk(node)
        )

    def _later(self, node):
        """Returns code that makes a call later, or reads an attribute; None if the node is neither."""
        if root_of(node) in self._variables:
            return None
        if isinstance(node, ast.Attribute) and not _is_assertion(node):
            is_read = isinstance(node.ctx, ast.Load) and _is_method(node, self._names)
            return _call("__later_get__", node.value, ast.Constant(node.attr)) if is_read else None
        is_call = isinstance(node, ast.Call) and not _is_assertion(node.func)
        if not is_call or root_of(node.func) in self._variables:
            return None
        function, name = node.func, ast.Constant(getattr(node.func, "attr", ""))
        if isinstance(function, ast.Name) and function.id in self._names:
            return _with_keywords(_call("__later__", function, *node.args), node)
        if is_method_of_made(node, self._names):
            return _with_keywords(_call("__later_made__", *parts_of_made(node)), node)
        if not _is_method(function, self._names):
            return None
        if _are_plain(node.args, node.keywords):
            return _with_keywords(_call("__later_method__", function.value, name, *node.args), node)
        return _with_keywords(_call("__later__", function, *node.args), node)


def invoked(node):
    """Changes a call of a method so that it is one request, if it is a method of the candidate."""
    is_made = isinstance(node.func.value, ast.Call)
    parts = parts_of_made(node) if is_made else [node.func.value, ast.Constant(node.func.attr), *node.args]
    node.func, node.args = ast.Name("__invoke_made__" if is_made else "__invoke__", ast.Load()), parts
    return ast.fix_missing_locations(node)


def is_method_of_made(node, names):
    """Returns whether a node makes an object of a class and calls its method, as in `Solution().f(1)`."""
    is_method = isinstance(node.func, ast.Attribute) and node.func.attr[:1] != "_"
    if not is_method or not _is_new_object(node.func.value, names) or node.func.value.keywords:
        return False
    parts = [*node.func.value.args, *node.args, *node.keywords]
    return _are_plain(parts, []) and not any(isinstance(inner, ast.Attribute) for part in parts for inner in walk(part))


def parts_of_made(node):
    """Returns the class, the arguments for it, the name of the method, and the arguments for the method."""
    made = node.func.value
    return [made.func, ast.Tuple(made.args, ast.Load()), ast.Constant(node.func.attr), *node.args]


def _guarded(nodes):
    """Returns the nodes that run where an exception may be caught, or at a time that the test does not decide."""
    functions = {}
    for node in nodes:
        if isinstance(node, _FUNCTIONS):
            functions.setdefault(node.name, []).append(node)
    waiting = [node for node in nodes if _is_guard(node)]
    called = {node.func for node in nodes if isinstance(node, ast.Call)}
    called |= {node.args[0] for node in nodes if is_call_of(node, {"__in_place__"})}
    passed = {name for node in nodes if node not in called for name in _used(node)}
    waiting += [node for name in passed for node in functions.get(name, ())]
    guarded = set()
    while waiting:
        region = waiting.pop()
        if region in guarded:
            continue
        inner = [node for node in walk(region)]
        if any(isinstance(node, ast.Name) and node.id == "getattr" for node in inner):
            return set(nodes)  # it can reach each function
        guarded.update(inner)
        for name in {name for node in inner for name in _used(node)}:
            waiting += [node for node in functions.get(name, ()) if node not in guarded]
    return guarded


def _is_guard(node):
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return isinstance(node, ast.AsyncWith) or not all(_is_sub_test(item.context_expr) for item in node.items)
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        is_special = node.name.startswith("__")
        is_generator = isinstance(node, ast.FunctionDef) and any(isinstance(inner, _UNSAFE[1:3]) for inner in walk(node))
        return is_special or is_generator or len(node.decorator_list) > 0
    return isinstance(node, (ast.Try, ast.TryStar, ast.AsyncFor, ast.AsyncFunctionDef, ast.Match))


def _is_sub_test(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "subTest"


def _used(node):
    """Returns the name by which a node can reach a function."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return [node.id]
    return [node.attr] if isinstance(node, ast.Attribute) else []


def _mentioned(node):
    if isinstance(node, ast.alias):
        return node.name.split(".")
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").split(".")
    return [getattr(node, "id", getattr(node, "attr", ""))]


def _bound(nodes):
    """Returns the names that tests define."""
    names = set()
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            names.update(node.names)
        elif isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.ExceptHandler)):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
    return names


def _blocks(node):
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if type(block) is list and block and isinstance(block[0], ast.stmt):
            yield block


def _conjuncts(test):
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return [part for value in test.values for part in _conjuncts(value)]
    return [test]


def _is_assertion(node):
    """Returns whether a function is an assertion of a test case."""
    if not isinstance(node, ast.Attribute) or not node.attr.startswith("assert"):
        return False
    return isinstance(node.value, ast.Name) and not any(word in node.attr for word in _CATCHERS)


def _is_new_object(node, names):
    """Returns whether a node calls a class, by its name."""
    return is_call_of(node, names) and node.func.id[:1].isupper()


def _is_method(node, names):
    """Returns whether a node is an attribute of what may be the candidate's."""
    is_attribute = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node.attr[:1] != "_"
    return is_attribute and root_of(node) in names


def _are_plain(args, keywords):
    """Returns whether the evaluation of arguments makes no call that could change a method."""
    nodes = [node for part in (*args, *keywords) for node in walk(part)]
    return not any(isinstance(node, _UNSAFE) for node in nodes) and all(
        is_call_of(node, PURE) for node in nodes if isinstance(node, ast.Call)
    )


def _located(node, source):
    """Gives new nodes the place of a statement."""
    if "lineno" in node._attributes:
        if hasattr(node, "lineno"):
            return node
        ast.copy_location(node, source)
    for child in ast.iter_child_nodes(node):
        _located(child, source)
    return node


def _parameter(index):
    return f"__{index}__"


def _with_keywords(call, source):
    call.keywords = source.keywords
    return call


def _call(name, *args):
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])
