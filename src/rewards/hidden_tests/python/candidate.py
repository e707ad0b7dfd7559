"""
Holds the candidate's program and the objects that it returns, and carries out the requests of the tests. Changes
that the program makes in this module only harm itself.
"""

import builtins
import importlib
import io
import json
import os
import sys
import types
from collections import Counter, OrderedDict, defaultdict, deque

from paddock_callee import Answer, answer_of
from paddock_operations import End, operation
from paddock_plain_data import BUILDERS, MAX_DEPTH, TooDeepError, decode, encode, encode_base
from paddock_prompt import compiled_prompt
from paddock_references import LINKABLE, MAPPINGS, describe, how_to_refer

MAX_OUTPUT = 4 * 1024 * 1024
"""Maximum size of the text that one request prints to a stream and the tests receive, in bytes."""

MAX_BATCH = 256 * 1024
"""Length of the results of a batch of calls, in characters, from which the batch makes no further call."""

MAX_LINKS = 1000
"""Maximum number of containers in one reply that the tests can change in place."""

_module = types.ModuleType("candidate")
_loads, _dumps = json.loads, json.dumps
_objects = []
_numbers = {}
_named = set()
_held = []
"""A request whose outcome is too long for the batch that it is in, and the outcome. The next request is the same."""


def load(prompt, program):
    """Runs the prompt, if it is code, and then the program, in their own module."""
    sys.modules["candidate"] = _module
    codes = [compiled_prompt(prompt), compile(program.removeprefix("\ufeff"), "<candidate>", "exec")]
    for code in codes:
        if code is not None:
            exec(code, _module.__dict__)
    return Answer("loaded")


def call(name, arguments, characters):
    """
    Carries out a request. Its value is a list: how it ended, its result, its output, and how much it has read of a
    standard input of so many characters, 0 if the tests do not give one.
    """
    return answer_of(f'{{"value": {_outcome(name, _loads(arguments), characters)[0]}}}')


def calls(arguments):
    """
    Makes calls that the tests need one after another. It stops after one that raises, or whose result is not plain
    data, as the tests could do something else then.
    """
    outcomes, size = [], 0
    for name, payload in _loads(arguments):
        outcome, is_plain = _outcome(name, payload, 0)
        if outcomes and len(outcome) > MAX_BATCH:
            _held[:] = [(name, payload), (outcome, is_plain)]
            break
        outcomes.append(outcome)
        size += len(outcome)
        if size > MAX_BATCH or not is_plain:
            break
    return answer_of(f'{{"value": ["list", {", ".join(outcomes)}]}}')


def _outcome(name, payload, characters):
    """Returns the outcome of a request as JSON, and whether the request has returned plain data."""
    if _held:
        request, held = _held
        _held.clear()
        if request == (name, payload):
            return held
    target, args, kwargs = decode(payload)
    streams, given = (sys.stdout, sys.stderr, sys.stdin), sys.stdin
    output, errors = _Capture(streams[0]), _Capture(streams[1])
    sys.stdout, sys.stderr = output.stream, errors.stream
    refer = _Referrer(MAX_LINKS if name == "get_linked" else 0)
    try:
        ended = _ended(name, target, args, kwargs, refer)
    finally:
        sys.stdout, sys.stderr, sys.stdin = streams
    read = characters - _unread(given) if characters > 0 else 0
    _keep_input()
    texts = _dumps([output.text(), errors.text()])
    is_plain = not refer.has_referred and ended.startswith('"returned"')
    return f'["list", {ended}, {texts[1:-1]}, ["int", "{hex(max(read, 0))}"]]', is_plain


def _ended(name, target, args, kwargs, refer):
    try:
        if name == "name":
            result = _resolve(target)
        elif name in _CALLS:
            result = _CALLS[name](target, *args, **kwargs)
        elif name == "call_in_place":
            result = [_call(target, *args, **kwargs), args]
            return f'"returned", {encode(result, MAX_DEPTH + 2, refer)}'
        elif name == "exception":
            result = _exception_parts(target)
        elif name == "data":
            return f'"returned", {_dumps(encode_base(target, MAX_DEPTH, _Referrer(0)))}'
        elif name == "describe":
            result = describe(target, _number)
        else:
            result = operation(name)(target, *args, **kwargs)
        return f'"returned", {encode(result, refer=refer)}'
    except End as end:
        return f'"ended", {encode(end.result, refer=refer)}'
    except TooDeepError:
        return '"too deep", null'
    except Exception as error:
        return f'"raised", {_raised(error)}'


def _call(target, /, *args, **kwargs):
    function = _evaluated(target) if type(target) is str else target
    return function(*args, **kwargs)


def _call_method(target, /, *args, **kwargs):
    owner, name = target
    return getattr(owner, name)(*args, **kwargs)


def _call_method_of_made(target, /, *args, **kwargs):
    kind, given, name = target
    return getattr(kind(*given), name)(*args, **kwargs)


def _discarded(function):
    """Returns a function that returns nothing."""

    def discarded(target, /, *args, **kwargs):
        function(target, *args, **kwargs)

    return discarded


_CALLS = {
    "call": _call,
    "call_discarded": _discarded(_call),
    "method": _call_method,
    "method_discarded": _discarded(_call_method),
    "made": _call_method_of_made,
}
"""Requests that call a function or a method. Their targets say which."""


def _unread(stream):
    """Returns the number of characters of the standard input that are left."""
    try:
        return len(stream.read())
    except (OSError, ValueError):
        pass  # the program has closed or detached the stream
    rest = b""
    try:
        while piece := os.read(0, 65536):
            rest += piece
    except OSError:
        pass  # the program has closed the descriptor
    return len(rest.decode("utf-8", "surrogateescape"))


def _keep_input():
    """Opens the descriptor 0 again for the next call, if a program has closed it, as `open(0).read()` does."""
    try:
        os.fstat(0)
    except OSError:
        os.open("/dev/stdin", os.O_RDONLY)


def _raised(error):
    kind = type(error)
    names = (base.__name__ for base in kind.__mro__ if getattr(builtins, base.__name__, None) is base)
    about = _dumps([kind.__name__, next(names), str(error)[:1000]])
    return f'["list", {about[1:-1]}, {encode(error, refer=_Referrer(0))}]'


def _exception_parts(error):
    """Returns the arguments and the cause of an exception. Arguments that cannot be encoded become the message."""
    try:
        encode(error.args, refer=_Referrer(0))
        return error.args, error.__cause__
    except Exception:
        return (str(error)[:1000],), error.__cause__


def _evaluated(name):
    return eval(name, {"__builtins__": {}}, _module.__dict__)


def _resolve(names):
    """Returns the values of those names that the program defines. Their classes are known to the tests."""
    found = {name: _module.__dict__[name] for name in names if name in _module.__dict__}
    _named.update(value for value in found.values() if isinstance(value, type))
    return found


class _Capture(io.BytesIO):
    """
    Bytes that a program prints. What exceeds the limit goes to the real stream, which has a limit of its own. Like the
    real ones, `stream` has a `buffer`.
    """

    def __init__(self, real):
        super().__init__()
        self._real = real
        self.stream = io.TextIOWrapper(self, "utf-8", "surrogatepass", newline="\n", write_through=True)

    def write(self, data):
        if self.tell() + len(data) <= MAX_OUTPUT:
            return super().write(data)
        self._real.write(bytes(data).decode("utf-8", "replace"))
        return len(data)

    def close(self):
        """Keeps the bytes, which a program that closes its output has printed all the same."""

    def text(self):
        return self.getvalue().decode("utf-8", "replace")


class _Referrer:
    """Encodes what is not plain data by a number, by which the tests refer to it."""

    def __init__(self, links):
        self._links = links
        self.has_referred = False

    def __call__(self, value, depth):
        kind = type(value)
        if kind in LINKABLE and self._links > 0:
            self._links -= 1
            self.has_referred = True
            data = self._mapping(value, depth) if kind in MAPPINGS else encode_base(value, depth, self)
            return ["linked", _number(value), data]
        if kind in MAPPINGS:
            return self._mapping(value, depth)
        how = how_to_refer(value, _is_known(kind))
        if how == "plain":
            return None
        self.has_referred = True
        if how == "value":
            return ["value", _number(value), _number(kind), encode_base(value, depth, self)]
        return [how, _number(value), *([_number(kind)] if how == "object" else [])]

    def _mapping(self, value, depth):
        encoded = encode_base(value, depth, self)[1:]
        kind = type(value).__name__
        if kind != "defaultdict":
            return [kind, *encoded]
        factory = value.default_factory
        name = next((name for name, found in _FACTORIES.items() if found is factory), "")
        return [kind, name, *encoded]


def _is_known(kind):
    return any(base in _named for base in kind.__mro__)


def _number(value):
    """Returns the number of an object. An object with a number stays alive, so that its identity is its own."""
    number = _numbers.get(id(value))
    if number is None:
        number = _numbers[id(value)] = len(_objects)
        _objects.append(value)
    return hex(number)


_FACTORIES = {kind.__name__: kind for kind in (int, float, str, list, dict, set, tuple, bool, Counter, deque)}
BUILDERS["Counter"] = lambda *items: Counter(BUILDERS["dict"](*items))
BUILDERS["OrderedDict"] = lambda *items: OrderedDict(BUILDERS["dict"](*items))
BUILDERS["defaultdict"] = lambda factory, *items: defaultdict(_FACTORIES.get(factory), BUILDERS["dict"](*items))
BUILDERS["exception"] = lambda name, args: getattr(builtins, name)(*decode(args))
BUILDERS["imported"] = lambda module, name: getattr(importlib.import_module(module), name)
BUILDERS["handle"] = lambda number: _objects[int(number, 16)]

