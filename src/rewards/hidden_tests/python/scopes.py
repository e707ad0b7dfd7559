"""Finds the global names of code: a name of a function, a lambda or a comprehension is its own."""

import ast

from paddock_syntax import children

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (*_FUNCTIONS, *_COMPREHENSIONS, ast.ClassDef)


def global_names(tree):
    """Returns the global names that code binds, and those that it uses."""
    bound, used = set(), set()
    waiting = [(tree.body, set(), None, False)]
    while waiting:
        inside, outer, own, is_class = waiting.pop()
        nodes = list(_nodes(inside))
        shared = {name for node in nodes if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names}
        names = {name for node in nodes for name in _bound(node)}
        if own is None:
            bound |= names
            local = set()
        else:
            bound |= {name for node in nodes if isinstance(node, ast.Global) for name in node.names} & names
            local = (own | names) - shared
        visible = local | outer
        loads = [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
        used |= {node.id for node in loads if node.id not in visible}
        for node in nodes:
            if isinstance(node, _SCOPES):
                waiting.append((_inside(node), outer if is_class else visible, _own(node), isinstance(node, ast.ClassDef)))
    return bound, used


def _nodes(roots):
    """Yields the nodes that a scope evaluates itself."""
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(_outside(node) if isinstance(node, _SCOPES) else children(node))


def _outside(node):
    """Returns what the code around a scope evaluates."""
    if isinstance(node, _COMPREHENSIONS):
        return [node.generators[0].iter]
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords]
    defaults = [*node.args.defaults, *(default for default in node.args.kw_defaults if default is not None)]
    if isinstance(node, ast.Lambda):
        return defaults
    annotations = [arg.annotation for arg in _arguments(node)] + [node.returns]
    return [*node.decorator_list, *defaults, *(annotation for annotation in annotations if annotation is not None)]


def _inside(node):
    """Returns what a scope evaluates."""
    if not isinstance(node, _COMPREHENSIONS):
        return node.body if type(node.body) is list else [node.body]
    values = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    loops = [part for loop in node.generators for part in (loop.target, *loop.ifs)]
    return [*values, *loops, *(loop.iter for loop in node.generators[1:])]


def _own(node):
    return {arg.arg for arg in _arguments(node)} if isinstance(node, _FUNCTIONS) else set()


def _arguments(node):
    given = node.args
    rest = [arg for arg in (given.vararg, given.kwarg) if arg is not None]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *rest]


def _bound(node):
    """Returns the names that a node of a scope binds there."""
    if isinstance(node, ast.Name):
        return [node.id] if not isinstance(node.ctx, ast.Load) else []
    if isinstance(node, ast.alias):
        return [(node.asname or node.name).split(".")[0]]
    if isinstance(node, _COMPREHENSIONS):
        inner = [part for part in _nodes(_inside(node))]
        walrus = [part.target.id for part in inner if isinstance(part, ast.NamedExpr)]
        return walrus + [name for part in inner if isinstance(part, _COMPREHENSIONS) for name in _bound(part)]
    names = (getattr(node, "name", None), getattr(node, "rest", None))
    return [name for name in names if type(name) is str]
