"""Runs hidden tests. The candidate is elsewhere: a call of it crosses to the host, and data come back."""

import ast
import builtins

from paddock import ToolError, tools
from paddock_plain_data import MAX_DEPTH, PlainDataError, decode, encode
from paddock_prompt import compiled_prompt

_space = {"__name__": "hidden_tests"}
_tests = []
_refusals = []
_ENDINGS = (StopIteration, StopAsyncIteration)
"""Would end a loop of the test that calls the candidate, as if everything had been looked at."""


class CandidateError(Exception):
    """The candidate raised what Python has no built-in class for, or did not answer with plain data."""


def prepare(prompt, setup, tests, names):
    """Runs what the tests need beforehand and compiles them, so that a fault of theirs shows before any call."""
    beginning = compiled_prompt(prompt)
    if beginning is not None:
        exec(beginning, _space)
    exec(compile(setup, "<setup>", "exec"), _space)
    trees = [ast.parse(source, "<test>") for source in tests]
    _bind(names or _called(trees))
    _tests.extend(compile(tree, "<test>", "exec") for tree in trees)


def run(index):
    """Runs a test. One that goes on although a call was refused has not seen what it is to judge."""
    _refusals.clear()
    exec(_tests[index], _space)
    if _refusals:
        raise _refusals[0]


def _bind(names):
    for name in names:
        _space[name] = _stub(name)
    if names:
        _space["candidate"] = _stub(names[0])


def _called(trees):
    """
    The names that tests call and that nobody defines; where there are none, the one built-in name that they call.

    The program has no say in this, or it would replace what the tests compare with.
    """
    nodes = [node for tree in trees for node in ast.walk(tree)]
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    names = dict.fromkeys(func.id for func in calls if isinstance(func, ast.Name))
    defined = {name for node in nodes for name in _defined(node)}
    open_names = [name for name in names if name not in {*_space, *defined}]
    unknown = [name for name in open_names if not hasattr(builtins, name)]
    return unknown or (open_names if len(open_names) == 1 else [])


def _defined(node):
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
    """As the built-in class that the candidate's own one is derived from, so that a test may expect it."""
    kind = getattr(builtins, base, None)
    is_fit = isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, _ENDINGS)
    if is_fit and (raised == base or kind is not Exception):
        try:
            return kind(message)
        except TypeError:
            pass  # it takes more than a message
    return CandidateError(f"{raised}: {message}")
