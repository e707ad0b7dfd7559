"""Finds the calls of tests that depend on nothing that the candidate has returned, so that they can be requested ahead."""

import ast

from paddock_deferral import Deferral, invoked, is_method_of_made, parts_of_made
from paddock_syntax import children, walk
from paddock_taint import PURE, Taint, is_call_of, root_of

MAX_LOOPS = 20
"""Maximum number of loops that are examined in the tests of a task."""

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp)
_CONSUMERS = frozenset("frozenset list max min set sorted sum tuple".split())
"""Functions that take each item of a generator."""

_ENDS = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Try, ast.With, ast.For, ast.While)
_NEW_SCOPES = (ast.Lambda, ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith)
_PURE_NODES = (
    *(ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.Starred, ast.keyword, ast.Subscript, ast.Slice),
    *(ast.BinOp, ast.BoolOp, ast.UnaryOp, ast.Compare, ast.Name),
    *(ast.operator, ast.boolop, ast.unaryop, ast.cmpop, ast.expr_context),
    *(ast.JoinedStr, ast.FormattedValue),
)
_VIEWS = frozenset(("items", "keys", "values"))


def with_batches(trees, names):
    """Changes tests so that calls cross to the candidate together. `names` are those of the candidate."""
    taint = Taint(trees, names)
    deferral = Deferral(trees, taint.names)
    objects = _objects(trees, names)
    loops = [found for tree in trees for found in _loops(tree)][:MAX_LOOPS]
    for node, generator, body in loops:
        call = _only_call(body, taint.names, objects)
        if call is None or call in deferral.calls:
            continue
        of_data = Taint(trees, names, call)
        if isinstance(node, ast.While):
            turns = _turns_of(node, call, of_data)
            is_batched = turns is not None and deferral.replace(node, turns)
        else:
            is_batched = _is_independent(generator, body, call, of_data)
            if is_batched:
                generator.iter = _call("__ahead__", generator.iter, _arguments_of(generator.target, call))
        if is_batched:
            deferral.keep(call)
            ast.fix_missing_locations(node)
    maps = [node for tree in trees for node in walk(tree) if is_call_of(node, {"map"})]
    consumed = {node for tree in trees for call in walk(tree) for node in _consumed(call)} if maps else ()
    for node in [node for node in maps if node in consumed and _maps_own_items(node, taint)]:
        item = ast.Name("__item__", ast.Store())
        described = ast.Call(node.args[0], [ast.Name("__item__", ast.Load())], [])
        node.args[1] = _call("__ahead__", node.args[1], _arguments_of(item, described))
        ast.fix_missing_locations(node)
    deferral.apply()


def _objects(trees, names):
    """Returns the names that only hold instances of the candidate's classes."""
    nodes = [node for tree in trees for node in walk(tree)]
    made = {
        node.targets[0]
        for node in nodes
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and is_call_of(node.value, names)
    }
    stored = [node for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)]
    return {node.id for node in made if isinstance(node, ast.Name)} - {node.id for node in stored if node not in made}


def _loops(tree):
    """Returns the loops of a tree, with what iterates and the nodes that run once for each item."""
    guarded = {inner for node in walk(tree) if isinstance(node, ast.Try) for inner in walk(node)}
    consumed = {node for call in walk(tree) for node in _consumed(call)}
    for node in walk(tree):
        if node in guarded:
            continue
        if isinstance(node, ast.For) and not node.orelse:
            yield node, node, node.body
        elif isinstance(node, ast.While) and not node.orelse:
            yield node, None, node.body
        elif isinstance(node, _COMPREHENSIONS) and len(node.generators) == 1:
            [generator] = node.generators
            is_whole = node in consumed or not isinstance(node, ast.GeneratorExp)
            if is_whole and not generator.ifs and not generator.is_async:
                yield node, generator, [node.elt]


def _consumed(node):
    """Returns the generators of which a call takes each item, or all but those after a failure of the test."""
    if isinstance(node, ast.Assert) and is_call_of(node.test, {"all"}):
        return node.test.args
    return node.args if is_call_of(node, _CONSUMERS) and len(node.args) == 1 else []


def _maps_own_items(node, taint):
    """Returns whether `map` calls a function of the candidate for each item of the tests."""
    if len(node.args) != 2 or node.keywords:
        return False
    function, items = node.args
    is_candidate = isinstance(function, ast.Name) and function.id in taint.names
    return is_candidate and not taint.has(items) and _is_pure(items)


def _only_call(body, sources, objects):
    """
    Returns the only call in a body of a function of the candidate by its name, or of a method of one of the `objects` or
    of an object that it makes, if it runs for each item.
    """
    nodes = [node for part in body for node in walk(part)]
    if any(isinstance(node, (*_ENDS, *_NEW_SCOPES)) for node in nodes):
        return None
    calls = [node for node in nodes if isinstance(node, ast.Call) and _is_candidate(node, sources, objects)]
    calls = [node for node in calls if not any(node is other.func.value for other in calls if _is_method(other))]
    always = {node for part in body for node in _always(part)}
    return calls[0] if len(calls) == 1 and calls[0] in always else None


def _is_candidate(node, sources, objects):
    if is_call_of(node, sources) or _is_in_place(node, sources) or is_method_of_made(node, sources):
        return True
    return _is_method(node) and isinstance(node.func.value, ast.Name) and node.func.value.id in objects


def _is_method(node):
    return isinstance(node.func, ast.Attribute) and node.func.attr[:1] != "_"


def _is_in_place(node, sources):
    """Returns whether a call may change its arguments, as its result is discarded."""
    return is_call_of(node, {"__in_place__"}) and isinstance(node.args[0], ast.Name) and node.args[0].id in sources


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
    is_in_place = is_call_of(call, {"__in_place__"})
    nodes = _beside(body, call)
    if any(map(taint.reaches, _names_in(nodes))) or taint.has(generator.iter):
        return False
    arguments = _arguments(call)
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    changed = _changed(nodes, call)
    targets = _names_in(walk(generator.target))
    used = {name for part in arguments for name in _names_in(walk(part))}
    if is_in_place:
        changed |= used - targets
    is_kept = not changed & (used - targets | _names_in(walk(generator.iter))) and not stored & targets
    return is_kept and all(map(_is_pure, [generator.target, generator.iter, *arguments]))


def _turns_of(loop, call, taint):
    """
    Returns the statements that run instead of a `while` loop, if nothing but the call uses the candidate. A generator
    runs ahead of the loop: it has the loop's condition, and the assignments on which the condition and the calls depend.
    """
    nodes = [*_beside(loop.body, call), *walk(loop.test)]
    if is_call_of(call, {"__in_place__"}) or any(map(taint.reaches, _names_in(nodes))):
        return None
    place = next(index for index, part in enumerate(loop.body) if call in walk(part))
    needed, count = {name for part in [loop.test, *_arguments(call)] for name in _names_in(walk(part))}, -1
    while count != len(needed):
        count = len(needed)
        steps = [part for part in loop.body if _step(part) in needed]
        needed |= {name for part in steps for name in _names_in(walk(part.value))}
    others = [node for node in nodes if not any(node in walk(part) for part in steps)]
    is_alone = not _changed(others, call) & needed and loop.body[place] not in steps
    if not is_alone or not all(map(_is_pure, [loop.test, *_arguments(call), *(part.value for part in steps)])):
        return None
    before = [part for part in loop.body[:place] if part in steps]
    after = [part for part in loop.body[place:] if part in steps]
    body = [*before, ast.Expr(ast.Yield(_described(call))), *after]
    parameters, names = _no_parameters(), sorted({_step(part) for part in steps})
    parameters.args = [ast.arg(name) for name in names]
    made = ast.FunctionDef("__turns_of__", parameters, [ast.While(loop.test, body, [])], [])
    turns = _call("__turns__", ast.Name("__turns_of__", ast.Load()), *[ast.Name(name, ast.Load()) for name in names])
    loop.body.insert(0, ast.Expr(_call("next", ast.Name("__turn__", ast.Load()), ast.Constant(None))))
    end = ast.Expr(ast.Call(ast.Attribute(ast.Name("__turn__", ast.Load()), "close", ast.Load()), [], []))
    statements = [made, ast.Assign([ast.Name("__turn__", ast.Store())], turns), loop, end]
    return [ast.fix_missing_locations(ast.copy_location(part, loop)) for part in statements]


def _step(statement):
    """Returns the variable to which a statement assigns; None if it is no assignment to one variable."""
    if isinstance(statement, ast.AugAssign):
        target = statement.target
    else:
        is_single = isinstance(statement, ast.Assign) and len(statement.targets) == 1
        target = statement.targets[0] if is_single else None
    return target.id if isinstance(target, ast.Name) else None


def _beside(body, call):
    """Returns the nodes of a loop's body, but those that name what is called."""
    inside = {*walk(call.func), *(call.args[:1] if is_call_of(call, {"__in_place__"}) else [])}
    return [node for part in body for node in walk(part) if node not in inside]


def _names_in(nodes):
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def _arguments(call):
    """Returns the arguments of a call, and those of the object that it makes for it."""
    made = call.func.value if _is_method(call) else None
    args = call.args[1:] if is_call_of(call, {"__in_place__"}) else call.args
    return [*args, *call.keywords, *(made.args if isinstance(made, ast.Call) else [])]


def _changed(nodes, call):
    """Returns the names of what nodes may change."""
    changed = {root_of(node) for node in nodes if isinstance(node, (ast.Attribute, ast.Subscript)) and _changes(node)}
    changed |= {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    return changed | {
        root_of(argument)
        for node in nodes
        if isinstance(node, ast.Call) and node is not call and not is_call_of(node, PURE)
        for argument in node.args
    }


def _changes(node):
    """Returns whether what an expression reaches can be changed: by a method, or by an assignment."""
    return isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load)


def _is_pure(node):
    """Returns whether an expression can be evaluated twice, as it only computes a value."""
    if isinstance(node, ast.Call):
        is_view = isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS and _is_pure(node.func.value)
        return (is_view or is_call_of(node, PURE)) and all(map(_is_pure, [*node.args, *node.keywords]))
    return isinstance(node, _PURE_NODES) and all(map(_is_pure, children(node)))


def _described(call):
    """Returns code that describes a call instead of making it."""
    is_in_place = is_call_of(call, {"__in_place__"})
    if is_in_place:
        described = _call("__call__", ast.Constant("call_in_place"), *call.args)
    elif not isinstance(call.func, ast.Attribute):
        described = _call("__call__", ast.Constant("call"), call.func, *call.args)
    elif isinstance(call.func.value, ast.Call):
        target = ast.List(parts_of_made(call)[:3], ast.Load())
        described = _call("__call__", ast.Constant("made"), target, *call.args)
    else:
        target = ast.List([call.func.value, ast.Constant(call.func.attr)], ast.Load())
        described = _call("__call__", ast.Constant("method"), target, *call.args)
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
