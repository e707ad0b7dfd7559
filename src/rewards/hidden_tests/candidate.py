"""
Holds the candidate's program and the objects that it returns, and carries out the requests of the tests. Changes
that the program makes in this module only harm itself.
"""

import builtins
import importlib
import io
import json
import sys
import types
from collections import Counter, OrderedDict, defaultdict, deque

from paddock_callee import Answer
from paddock_operations import End, operation
from paddock_plain_data import BUILDERS, MAX_DEPTH, decode, encode, encode_base
from paddock_prompt import compiled_prompt
from paddock_references import LINKABLE, MAPPINGS, describe, how_to_refer

MAX_OUTPUT = 256 * 1024
"""Maximum length of the text that one request prints and the tests receive, in characters."""

MAX_LINKS = 1000
"""Maximum number of containers in one reply that the tests can change in place."""

_module = types.ModuleType("candidate")
_loads, _dumps = json.loads, json.dumps
_objects = []
_numbers = {}
_named = set()
_programs = []


def load(prompt, program, is_module):
    """Runs the prompt, if it is code, and then the program, in their own module; later, if it is not a module."""
    sys.modules["candidate"] = _module
    codes = [compiled_prompt(prompt), compile(program, "<candidate>", "exec")]
    _programs.extend(code for code in codes if code is not None)
    for code in _programs if is_module else ():
        exec(code, _module.__dict__)
    return Answer("loaded")


def call(name, arguments):
    """Carries out a request. Its value is a list: how it ended, its result, its output, and the input that it read."""
    target, args, kwargs, stdin = decode(_loads(arguments))
    streams = sys.stdout, sys.stderr, sys.stdin
    given = streams[2] if stdin is None else io.StringIO(stdin)
    sys.stdout, sys.stderr, sys.stdin = output, errors, _ = _Output(streams[0]), _Output(streams[1]), given
    try:
        ended = _ended(name, target, args, kwargs)
    finally:
        sys.stdout, sys.stderr, sys.stdin = streams
    read = 0 if stdin is None or given.closed else given.tell()
    texts = _dumps([output.getvalue(), errors.getvalue()])
    return Answer(f'{{"value": ["list", {ended}, {texts[1:-1]}, ["int", "{hex(read)}"]]}}')


def _ended(name, target, args, kwargs):
    refer = _Referrer(MAX_LINKS if name == "get_linked" else 0)
    try:
        if name == "name":
            result = _resolve(target)
        elif name in ("call", "call_in_place"):
            function = _evaluated(target) if type(target) is str else target
            result = function(*args, **kwargs)
            result = result if name == "call" else [result, args]
        elif name == "exception":
            result = _exception_parts(target)
        elif name == "program":
            result = _run_program()
        elif name == "data":
            return f'"returned", {_dumps(encode_base(target, MAX_DEPTH, _Referrer(0)))}'
        elif name == "describe":
            result = describe(target, _number)
        else:
            result = operation(name)(target, *args, **kwargs)
        return f'"returned", {encode(result, refer=refer)}'
    except End as end:
        return f'"ended", {encode(end.result, refer=refer)}'
    except Exception as error:
        return f'"raised", {_raised(error)}'


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


def _run_program():
    main = types.ModuleType("__main__")
    replaced, sys.modules["__main__"] = sys.modules.get("__main__"), main
    try:
        for code in _programs:
            exec(code, main.__dict__)
    except SystemExit:
        pass  # a program may end this way
    finally:
        sys.modules["__main__"] = replaced


class _Output(io.StringIO):
    """Text that a program prints. What exceeds the limit goes to the stream itself, which has limits of its own."""

    def __init__(self, stream):
        super().__init__()
        self._stream = stream

    def write(self, text):
        return self._stream.write(text) if self.tell() + len(text) > MAX_OUTPUT else super().write(text)


class _Referrer:
    """Encodes what is not plain data by a number, by which the tests refer to it."""

    def __init__(self, links):
        self._links = links

    def __call__(self, value, depth):
        kind = type(value)
        if kind in LINKABLE and self._links > 0:
            self._links -= 1
            data = self._mapping(value, depth) if kind in MAPPINGS else encode_base(value, depth, self)
            return ["linked", _number(value), data]
        if kind in MAPPINGS:
            return self._mapping(value, depth)
        how = how_to_refer(value, _is_known(kind))
        if how == "plain":
            return None
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

