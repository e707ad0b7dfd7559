"""Runs hidden tests. The candidate runs elsewhere: what tests do with it goes through the host."""

import ast
import asyncio
import base64
import dataclasses
import json
import marshal
import math
import operator
import random
import sys

from paddock_ahead import IN_TESTS, begin, failures, settle, target_of
from paddock_batches import with_batches
from paddock_callee import Answer
from paddock_channel import (
    CandidateError,
    ExpectedTooBig,
    TooLarge,
    TooManyCalls,
    Unjudged,
    encoded,
    refusals,
    request,
    send,
)
from paddock_crossing import make_known
from paddock_names import Names, library_objects
from paddock_prompt import compiled_prompt
from paddock_stand_ins import ClassStandIn, Foreign, StandIn
from paddock_syntax import children, walk
from paddock_taint import Taint
from paddock_test_check import check, without_runner

_space = {"__name__": "hidden_tests"}
_tests = []
_deferred = []
"""The setup, if it uses names of the candidate. It then runs before the first test."""

_names = []
_known = set()
"""Names that the tests take from the candidate, and `candidate`."""

_foreign = set()
"""Names that the tests must define themselves, and do not."""

_sources = []
"""The setup and the tests as they are given."""

MAX_PACKED = 48 * 1024
"""Length of prepared tests, in characters, up to which another session can use them. The host limits one value."""

_lacking = []
"""Names of the candidate that are no functions, classes or other objects to which the tests could send a request."""


def prepare(prompt, setup, tests, names):
    """
    Checks and compiles the tests, and runs the setup, so that an error in them shows before any call. Returns the names
    that come from the candidate beside its entry point, the arguments of the first request, which looks names up, and
    what `run_packed` of another session needs, empty if that is long.

    The program cannot influence which names the tests take from it: it could replace what they compare with.
    """
    beginning = compiled_prompt(prompt)
    _begin(beginning)
    classes = {name for name, value in _space.items() if _is_of_tests(value, type)}
    trees = {"setup": ast.parse(setup, "<setup>")}
    trees |= {f"test {index + 1}": ast.parse(source, "<test>") for index, source in enumerate(tests)}
    found = Names(list(trees.values()), prompt, names, {*_space}, classes)
    known = {*found.candidate, "candidate"}
    for place, tree in trees.items():
        check(place, tree, known)
    changed = [_Changes().visit(without_runner(tree)) for tree in trees.values()]
    try:
        with_batches(changed, known)
    except RecursionError:
        pass  # the tests have an expression that is nested very deep
    codes = [compile(tree, f"<{place.split()[0]}>", "exec") for place, tree in zip(trees, changed)]
    used = {node.id for node in _top_level(trees["setup"]) if isinstance(node, ast.Name)}
    is_deferred = not used.isdisjoint({*known, *found.foreign})
    prepared = (found.candidate, [*found.foreign], found.library, is_deferred, codes)
    packed = base64.b64encode(marshal.dumps((beginning, prepared))).decode()
    _use([setup, *tests], prepared)
    about = [_names[1:], encoded([_looked_up(), (), {}]), f"{sys.version}|{packed}" if len(packed) <= MAX_PACKED else ""]
    return Answer(json.dumps(about))


def run_packed(packed, setup, tests, index):
    """
    Prepares tests as another session has, and runs a test. The verdict is `unprepared` if the setup fails now, or if the
    session had another Python.
    """
    version, _, data = packed.rpartition("|")
    if version != sys.version:
        return _UNPREPARED
    try:
        beginning, prepared = marshal.loads(base64.b64decode(data))
        _begin(beginning)
        _use([setup, *tests], prepared)
    except Exception:
        return _UNPREPARED
    return run(index)


_UNPREPARED = Answer('["unprepared", ""]')


def _begin(beginning):
    """Runs the prompt, if it is code."""
    random.seed = _seed_both
    if beginning is not None:
        exec(beginning, _space)


def _use(sources, prepared):
    """Lets prepared tests run, and runs their setup unless that needs the candidate."""
    candidate, foreign, library, is_deferred, [setup, *tests] = prepared
    _names.extend(candidate)
    _foreign.update(foreign)
    _space.update(library_objects(library))
    _known.update(_names, ["candidate"])
    _sources.extend(sources)
    _tests.extend(tests)
    if is_deferred:
        _deferred.append(setup)
    else:
        exec(setup, _space)


def run(index):
    """
    Runs a test. Returns its verdict and a reason: `passed`, `failed`, `unjudged` if the test requires something that
    cannot be judged, or the limit that it reaches, if the candidate is not the cause.

    What is raised decides by its identity: the candidate's exceptions may have any class name.
    """
    refusals.clear()
    begin()
    _bind()
    before = dict(_space)
    try:
        for code in _deferred:
            exec(code, _space)
        _deferred.clear()
        exec(_tests[index], _space)
        _run_defined(before)
        settle()
        verdict = "passed"
    except Exception as error:
        verdict = "failed"
        if isinstance(error, MemoryError):
            raise
    if failures:
        return Answer(json.dumps(["failed", ""]))
    if not refusals:
        return Answer(json.dumps([verdict, ""]))
    kind, reason = type(refusals[0]), str(refusals[0])
    if kind is Unjudged:
        return Answer(json.dumps(["unjudged", reason]))
    if kind is TooManyCalls and is_bounded(index):
        return Answer(json.dumps(["too many calls", reason]))
    if kind is ExpectedTooBig or kind is TooLarge and _has_own_arguments(index):
        return Answer(json.dumps(["too large", reason]))
    return Answer(json.dumps(["failed", reason]))


def is_bounded(index):
    """Returns whether the candidate cannot influence how often the loops of a test run."""
    return _holds(index, lambda taint, tree: taint.bounds_loops(tree))


def uses_candidate():
    """Returns whether the tests use a name of the candidate."""
    return any(isinstance(node, ast.Name) and node.id in _known for tree in _parsed() for node in walk(tree))


def lacks_names():
    """Returns whether a name that the tests take from the candidate is none that can be called."""
    return len(_lacking) > 0


def _has_own_arguments(index):
    return _holds(index, lambda taint, tree: not taint.has_arguments(tree))


def _holds(index, condition):
    try:
        trees = _parsed()
        taint = Taint(trees, _known)
        return all(condition(taint, tree) for tree in (trees[0], trees[index + 1]))
    except RecursionError:
        return False  # the tests have an expression that is nested very deep


def _parsed():
    """Returns the setup and the tests as trees."""
    return [without_runner(ast.parse(source)) for source in _sources]


def _bind():
    """Takes the names of the tests from the candidate, which is loaded by now."""
    if not _names:
        return
    try:
        found = request("name", _looked_up())
    except CandidateError:
        found = None  # the candidate's replies are invalid, and so are those to the calls
    if type(found) is not dict:
        found = {}
    for name in _names:
        _space[name] = found[name] if name in found else _stub(name)
        make_known(name, _space[name])
        if name.isidentifier() and not isinstance(found.get(name), (StandIn, ClassStandIn)):
            _lacking.append(name)
    _space["candidate"] = _space[_names[0]]
    _space.update({name: Foreign(name, name in found) for name in _foreign})
    _names.clear()
    for seed in _seeds:
        request("seed", seed)


def _looked_up():
    """Returns the names that are looked up in the candidate."""
    return [name for name in [*_names, *_foreign] if name.isidentifier()]


def _stub(name):
    """Returns a function that calls the candidate's function of this name."""

    def candidate(*args, **kwargs):
        return send("call", name, args, kwargs)

    candidate._paddock_target = name
    return candidate


def _run_defined(before):
    """Runs the test cases and test functions that a test has defined and not called."""
    defined = [value for name, value in _space.items() if before.get(name) is not value]
    unittest = sys.modules.get("unittest")
    if unittest is not None:
        suite = unittest.TestSuite()
        for kind in defined:
            if _is_of_tests(kind, type) and issubclass(kind, unittest.TestCase):
                suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(kind))
        result = unittest.TestResult()
        suite.run(result)
        if not result.wasSuccessful():
            raise AssertionError((result.errors + result.failures + [("", "it passed unexpectedly")])[0][1])
    for function in defined:
        if _is_of_tests(function, type(_bind)) and function.__name__.startswith("test_"):
            returned = function()
            if asyncio.iscoroutine(returned):
                asyncio.run(returned)


def _is_of_tests(value, kind):
    return isinstance(value, kind) and getattr(value, "__module__", None) == "hidden_tests"


def _top_level(tree):
    """Returns the nodes that are evaluated when the code runs, outside of functions."""
    waiting, found = list(tree.body), []
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            waiting.extend(children(node))
    return found


_ORDERS = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}


class _Changes(ast.NodeTransformer):
    """
    Changes tests in two ways. A call whose result is discarded changes its arguments, as it can only serve that purpose.
    And `not a > b` is false if one of the two is not a number, which would pass each negated comparison.
    """

    def visit_Constant(self, node):
        return node

    def visit_List(self, node):
        return self.generic_visit(node) if children(node) else node

    def visit_Expr(self, node):
        self.generic_visit(node)
        call = node.value
        if isinstance(call, ast.Call) and any(isinstance(arg, ast.Name) for arg in call.args):
            call.args.insert(0, call.func)
            call.func = ast.copy_location(ast.Name("__in_place__", ast.Load()), call)
            ast.fix_missing_locations(node)
        return node

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        compared = node.operand
        is_order = isinstance(compared, ast.Compare) and len(compared.ops) == 1 and type(compared.ops[0]) in _ORDERS
        if not isinstance(node.op, ast.Not) or not is_order:
            return node
        name = ast.Constant(_ORDERS[type(compared.ops[0])].__name__)
        call = ast.Call(ast.Name("__is_not__", ast.Load()), [name, compared.left, compared.comparators[0]], [])
        return ast.fix_missing_locations(ast.copy_location(call, node))


def _is_not(order, left, right):
    is_number = not any(isinstance(side, float) and math.isnan(side) for side in (left, right))
    return is_number and not getattr(operator, order)(left, right)


def _in_place(function, /, *args, **kwargs):
    target = target_of(function)
    if target is None:
        return function(*args, **kwargs)
    result, changed = send("call_in_place", target, args, kwargs)
    for argument, value in zip(args, changed):
        if type(argument) is type(value) and type(value) in (list, dict, set):
            argument.clear()
            (argument.extend if type(value) is list else argument.update)(value)
    return result


def _seed_both(seed=None, version=2):
    """Seeds the random numbers of the tests and, once it is loaded, those of the candidate."""
    _seed(seed, version)
    if _names:
        _seeds[:] = [seed]
    else:
        request("seed", seed)


_seed = random.seed
_seeds = []


def _of_stand_ins(name):
    """Lets a function of `dataclasses` work in the candidate's session if its first argument is there."""
    function = getattr(dataclasses, name)

    def called(instance, /, *args, **kwargs):
        is_there = isinstance(instance, (StandIn, ClassStandIn))
        return send(f"dataclass_{name}", instance, args, kwargs) if is_there else function(instance, *args, **kwargs)

    return called


for _name in ("asdict", "astuple", "fields", "is_dataclass", "replace"):
    setattr(dataclasses, _name, _of_stand_ins(_name))
_space.update({"__in_place__": _in_place, "__is_not__": _is_not, **IN_TESTS})
