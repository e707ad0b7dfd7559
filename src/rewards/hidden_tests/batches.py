"""Finds the calls of tests that depend on nothing that the candidate has returned, so that they can be requested ahead."""

import ast

from paddock_ahead import GROWTH, MAX_BATCH
from paddock_syntax import children, walk
from paddock_taint import PURE, Taint, root_of

MAX_LOOPS = 20
"""Maximum number of loops that are examined in the tests of a task."""

MIN_ASSERTIONS = 4
"""Minimum number of assertions in a row whose calls are requested together."""

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp)
_CONSUMERS = frozenset("frozenset list max min set sorted sum tuple".split())
"""Functions that take each item of a generator."""

_ENDS = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Try, ast.With, ast.For, ast.While)
_NEW_SCOPES = (ast.Lambda, ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith)
_PURE_NODES = (
    *(ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.Starred, ast.keyword, ast.Subscript, ast.Slice),
    *(ast.BinOp, ast.UnaryOp, ast.Compare, ast.operator, ast.unaryop, ast.cmpop, ast.expr_context, ast.Name),
    *(ast.JoinedStr, ast.FormattedValue),
)
_VIEWS = frozenset(("items", "keys", "values"))


def with_batches(trees, names):
    """Changes tests so that calls are requested ahead where that is possible. `names` are those of the candidate."""
    loops = [found for tree in trees for found in _loops(tree)][:MAX_LOOPS]
    blocks = [found for tree in trees for found in _blocks(tree)]
    maps = [node for tree in trees for node in walk(tree) if _is_call_of(node, {"map"})]
    if not loops and not blocks and not maps:
        return
    taint = Taint(trees, names)
    for node, generator, body in loops:
        call = _only_call(body, taint.names)
        if call is not None and _is_independent(generator, body, call, Taint(trees, names, call)):
            generator.iter = _call("__ahead__", generator.iter, _arguments_of(generator.target, call))
            ast.fix_missing_locations(node)
    consumed = {node for tree in trees for call in walk(tree) for node in _consumed(call)}
    for node in [node for node in maps if node in consumed and _maps_own_items(node, taint)]:
        item = ast.Name("__item__", ast.Store())
        described = ast.Call(node.args[0], [ast.Name("__item__", ast.Load())], [])
        node.args[1] = _call("__ahead__", node.args[1], _arguments_of(item, described))
        ast.fix_missing_locations(node)
    for node, block in blocks:
        block[:] = _with_plans(block, taint)
        ast.fix_missing_locations(node)


def _blocks(tree):
    """Returns lists of statements that have several assertions in a row."""
    guarded = {inner for node in walk(tree) if isinstance(node, ast.Try) for inner in walk(node)}
    for node in walk(tree):
        body = getattr(node, "body", None)
        is_block = isinstance(node, (ast.Module, ast.FunctionDef)) and node not in guarded
        if is_block and sum(isinstance(part, ast.Assert) for part in body) >= MIN_ASSERTIONS:
            yield node, body


def _with_plans(block, taint):
    """Returns the statements of a block, with requests of calls before rows of assertions that only need these calls."""
    changed, row = [], []
    for statement in [*block, None]:
        call = _call_of_assertion(statement, taint)
        if call is not None:
            row.append((statement, call))
            continue
        changed.extend(_planned(row))
        row = []
        if statement is not None:
            changed.append(statement)
    return changed


def _planned(row):
    if len(row) < MIN_ASSERTIONS:
        return [statement for statement, _ in row]
    planned, place, size = [], 0, 1
    while place < len(row):
        part = row[place : place + size]
        calls = ast.List([ast.Lambda(_no_parameters(), _described(call)) for _, call in part], ast.Load())
        request = ast.copy_location(ast.Expr(_call("__plan__", calls, ast.Constant(place))), part[0][0])
        planned += [request, *(statement for statement, _ in part)]
        place, size = place + len(part), min(size * GROWTH, MAX_BATCH)
    return planned


def _call_of_assertion(statement, taint):
    """Returns the call of an assertion that does nothing else with the candidate."""
    if not isinstance(statement, ast.Assert):
        return None
    call = _only_call([statement], taint.names)
    if call is None or not all(map(_is_pure, [*call.args, *call.keywords])):
        return None
    names = {node.id for node in walk(statement) if isinstance(node, ast.Name) and node is not call.func}
    return None if any(map(taint.reaches, names)) or _stores(statement) else call


def _stores(node):
    return any(not isinstance(getattr(inner, "ctx", ast.Load()), ast.Load) for inner in walk(node))


def _loops(tree):
    """Returns the loops of a tree, with what iterates and the nodes that run once for each item."""
    guarded = {inner for node in walk(tree) if isinstance(node, ast.Try) for inner in walk(node)}
    consumed = {node for call in walk(tree) for node in _consumed(call)}
    for node in walk(tree):
        if node in guarded:
            continue
        if isinstance(node, ast.For) and not node.orelse:
            yield node, node, node.body
        elif isinstance(node, _COMPREHENSIONS) and len(node.generators) == 1:
            [generator] = node.generators
            is_whole = node in consumed or not isinstance(node, ast.GeneratorExp)
            if is_whole and not generator.ifs and not generator.is_async:
                yield node, generator, [node.elt]


def _consumed(node):
    """Returns the generators of which a call takes each item, or all but those after a failure of the test."""
    if isinstance(node, ast.Assert) and _is_call_of(node.test, {"all"}):
        return node.test.args
    return node.args if _is_call_of(node, _CONSUMERS) and len(node.args) == 1 else []


def _is_call_of(node, names):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def _maps_own_items(node, taint):
    """Returns whether `map` calls a function of the candidate for each item of the tests."""
    if len(node.args) != 2 or node.keywords:
        return False
    function, items = node.args
    is_candidate = isinstance(function, ast.Name) and function.id in taint.names
    return is_candidate and not taint.has(items) and _is_pure(items)


def _only_call(body, sources):
    """Returns the only call of the candidate by name in a body, if it runs for each item."""
    nodes = [node for part in body for node in walk(part)]
    if any(isinstance(node, (*_ENDS, *_NEW_SCOPES)) for node in nodes):
        return None
    calls = [node for node in nodes if _is_call_of(node, sources) or _is_in_place(node, sources)]
    always = {node for part in body for node in _always(part)}
    return calls[0] if len(calls) == 1 and calls[0] in always else None


def _is_in_place(node, sources):
    """Returns whether a call may change its arguments, as its result is discarded."""
    return _is_call_of(node, {"__in_place__"}) and isinstance(node.args[0], ast.Name) and node.args[0].id in sources


def _always(node):
    """Returns the nodes that are evaluated whenever a node is."""
    found = [node]
    for child in children(node):
        is_first = not isinstance(node, ast.BoolOp) or child is node.values[0]
        is_test = not isinstance(node, (ast.If, ast.IfExp)) or child is node.test
        is_compared = not isinstance(node, ast.Compare) or child is node.left or child is node.comparators[0]
        is_asserted = not isinstance(node, ast.Assert) or child is node.test
        if is_first and is_test and is_compared and is_asserted and not isinstance(child, ast.comprehension):
            found.extend(_always(child))
    return found


def _is_independent(generator, body, call, taint):
    """Returns whether nothing but the call uses the candidate, and nothing that the body does changes later calls."""
    is_in_place = _is_call_of(call, {"__in_place__"})
    inside = {call.func, *(call.args[:1] if is_in_place else [])}
    nodes = [node for part in body for node in walk(part) if node not in inside]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    if any(map(taint.reaches, names)) or taint.has(generator.iter):
        return False
    arguments = [*(call.args[1:] if is_in_place else call.args), *call.keywords]
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    changed = stored | {root_of(node) for node in nodes if isinstance(node, (ast.Attribute, ast.Subscript)) and _changes(node)}
    changed |= {
        root_of(argument)
        for node in nodes
        if isinstance(node, ast.Call) and node is not call and not _is_call_of(node, PURE)
        for argument in node.args
    }
    targets = {node.id for node in walk(generator.target) if isinstance(node, ast.Name)}
    used = {node.id for part in arguments for node in walk(part) if isinstance(node, ast.Name)}
    iterated = {node.id for node in walk(generator.iter) if isinstance(node, ast.Name)}
    if is_in_place:
        changed |= used - targets
    is_kept = not changed & (used - targets | iterated) and not stored & targets
    return is_kept and all(map(_is_pure, [generator.target, generator.iter, *arguments]))


def _changes(node):
    """Returns whether what an expression reaches can be changed: by a method, or by an assignment."""
    return isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load)


def _is_pure(node):
    """Returns whether an expression can be evaluated twice, as it only computes a value."""
    if isinstance(node, ast.Call):
        is_view = isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS and _is_pure(node.func.value)
        return (is_view or _is_call_of(node, PURE)) and all(map(_is_pure, [*node.args, *node.keywords]))
    return isinstance(node, _PURE_NODES) and all(map(_is_pure, children(node)))


def _described(call):
    """Returns code that describes a call instead of making it."""
    is_in_place = _is_call_of(call, {"__in_place__"})
    parts = call.args if is_in_place else [call.func, *call.args]
    described = _call("__call__", ast.Constant("call_in_place" if is_in_place else "call"), *parts)
    described.keywords = call.keywords
    return described


def _arguments_of(target, call):
    """Returns code of a function from an item to the description of its call."""
    described = _described(call)
    item = ast.Tuple([ast.Name("__item__", ast.Load())], ast.Load())
    generator = ast.comprehension(target, item, [], 0)
    value = ast.Subscript(ast.ListComp(described, [generator]), ast.Constant(0), ast.Load())
    parameters = _no_parameters()
    parameters.args.append(ast.arg("__item__"))
    return ast.Lambda(parameters, value)


def _no_parameters():
    return ast.arguments([], [], None, [], [], None, [])


def _call(name, *args):
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])
