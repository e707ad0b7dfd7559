"""Runs hidden tests. The candidate runs elsewhere: calls of it go through the host and return data."""

import ast
import builtins

from paddock import ToolError, tools
from paddock_plain_data import MAX_DEPTH, PlainDataError, decode, encode
from paddock_prompt import compiled_prompt

_space = {"__name__": "hidden_tests"}
_tests = []
_refusals = []
_ENDINGS = (StopIteration, StopAsyncIteration)
"""These exceptions would end a loop in the test as if it had checked everything."""


class CandidateError(Exception):
    """The candidate raised an exception without a built-in class, or did not return plain data."""


def prepare(prompt, setup, tests, names):
    """Runs the setup and compiles the tests, so that an error in them shows before any call."""
    beginning = compiled_prompt(prompt)
    if beginning is not None:
        exec(beginning, _space)
    exec(compile(setup, "<setup>", "exec"), _space)
    trees = [ast.parse(source, "<test>") for source in tests]
    _bind(names or _called_names(trees))
    _tests.extend(compile(tree, "<test>", "exec") for tree in trees)


def run(index):
    """Runs a test. It fails if a call was refused, even if the test ignores that."""
    _refusals.clear()
    exec(_tests[index], _space)
    if _refusals:
        raise _refusals[0]


def _bind(names):
    for name in names:
        _space[name] = _stub(name)
    if names:
        _space["candidate"] = _stub(names[0])


def _called_names(trees):
    """
    Returns the names that tests call and do not define; if there are none, the only built-in name that they call.

    The program cannot influence this, because it could replace what the tests compare with.
    """
    nodes = [node for tree in trees for node in ast.walk(tree)]
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    names = dict.fromkeys(func.id for func in calls if isinstance(func, ast.Name))
    defined = {name for node in nodes for name in _defined_names(node)}
    open_names = [name for name in names if name not in {*_space, *defined}]
    unknown = [name for name in open_names if not hasattr(builtins, name)]
    return unknown or (open_names if len(open_names) == 1 else [])


def _defined_names(node):
    if isinstance(node, ast.alias):
        return [node.asname or node.name]
    if isinstance(node, ast.Name):
        return [node.id] if isinstance(node.ctx, ast.Store) else []
    return [name for name in (getattr(node, "name", None), getattr(node, "arg", None)) if name]


def _stub(name):
    def candidate(*args, **kwargs):
        arguments = encode([args, kwargs], 2 * MAX_DEPTH)
        try:
            reply = tools.call_candidate(name=name, arguments=arguments)
        except ToolError as error:
            _refusals.append(error)
            raise
        if "raised" in reply:
            raise _exception(**reply)
        try:
            return decode(reply["value"])
        except PlainDataError as error:
            raise CandidateError(str(error)) from None

    candidate.__name__ = candidate.__qualname__ = name
    return candidate


def _exception(raised, base, message):
    """Returns the candidate's exception as its built-in base class, so that a test can expect it."""
    kind = getattr(builtins, base, None)
    is_fit = isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, _ENDINGS)
    if is_fit and (raised == base or kind is not Exception):
        try:
            return kind(message)
        except TypeError:
            pass  # its constructor needs more than a message
    return CandidateError(f"{raised}: {message}")
