"""Makes the tests' values of the candidate's replies: data, stand-ins, generators, coroutines, and exceptions."""

import builtins
import datetime
import decimal
import fractions
import sys
import types
from collections import Counter, OrderedDict, defaultdict, deque

from paddock_channel import CandidateError, Ended, TooBig, hooks, request
from paddock_plain_data import BUILDERS, PlainDataError, decode, encode_base
from paddock_stand_ins import OF_VALUES, SPECIAL, ClassStandIn, StandIn, awaited, get

CHUNK_FROM = 64
"""Number of items that are requested one by one, before an iterator is read in chunks that run ahead of the test."""

CHUNK = 256

_objects = {}
_classes = {}
_handles = {}
"""Numbers of generators, coroutines, and exceptions, by identity. They are kept in `_objects`."""

_ENDINGS = (StopIteration, StopAsyncIteration)
"""These exceptions would end a loop in the test as if it had checked everything."""

_VALUES = {
    kind.__name__: kind
    for kind in (
        *(int, float, complex, str, bytes, tuple, frozenset, fractions.Fraction, decimal.Decimal),
        *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta),
    )
}
_CONTAINERS = {kind.__name__: kind for kind in (list, dict, set, bytearray, deque, Counter, OrderedDict, defaultdict)}
_ITERATORS = {kind.__name__: kind for kind in (map, zip, filter, enumerate, reversed)}
_MUTATORS = (
    "append appendleft extend extendleft insert pop popleft popitem remove discard clear sort reverse rotate add update "
    "setdefault move_to_end subtract intersection_update difference_update symmetric_difference_update __setitem__ "
    "__delitem__ __iadd__ __imul__ __ior__ __iand__ __isub__ __ixor__"
).split()


def class_of(number):
    """Returns the stand-in for a class, by its number."""
    if number not in _classes:
        _classes[number] = None
        _classes[number] = _new_class(number)
    return _classes[number]


def _new_class(number):
    try:
        name, bases, base, methods, own, fields = request("describe", Handle(number))
        parents = tuple(class_of(int(parent, 16)) for parent in bases)
    except (TypeError, ValueError) as error:
        raise CandidateError(f"the description of a class is invalid: {error}") from None
    space = {"_paddock_class": number, "__module__": "candidate"}
    if not any(parent._paddock_known for parent in parents if isinstance(parent, ClassStandIn)):
        space["_paddock_known"] = False
    kind = getattr(builtins, base, None)
    if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, _ENDINGS):
        if name == base and not parents:
            return kind
        parents = tuple(parent for parent in parents if issubclass(parent, Exception))
        return ClassStandIn(name, parents or (kind,), space | {"__getattr__": get, "__str__": _message_of})
    if base in _VALUES:
        parents = tuple(parent for parent in parents if issubclass(parent, _VALUES[base]))
        space |= {key: OF_VALUES[key] for key in own if key in OF_VALUES} | {"__getattr__": get}
        space |= {field: _item(index) for index, field in enumerate(fields or ())}
        return ClassStandIn(name, parents or (_VALUES[base],), space)
    parents = tuple(parent for parent in parents if issubclass(parent, StandIn))
    space |= {"__slots__": (), "_paddock_base": _CONTAINERS.get(base)}
    space |= {key: SPECIAL[key] for key in methods if key in SPECIAL}
    stands_for = _CONTAINERS.get(base) or (None if parents else _ITERATORS.get(name))
    if stands_for is not None:
        space["__class__"] = property(lambda self: stands_for)
    return ClassStandIn(name, parents or (StandIn,), space)


def _item(index):
    return property(lambda self: tuple.__getitem__(self, index))


def _message_of(error):
    return request("str", error)


class Handle:
    """An object of the candidate, in a request."""

    def __init__(self, number):
        self.number = number


def make_known(name, value):
    """Lets instances of a class that the tests name use their own operators with data of the tests."""
    if isinstance(value, ClassStandIn) and name[:1].isupper():
        type.__setattr__(value, "_paddock_known", True)


def refer(value, depth):
    """Encodes a stand-in, or what a test passes on, as a reference to the candidate's object."""
    kind = type(value)
    if kind is TooBig:
        raise value.error()
    if kind is Handle:
        return ["handle", hex(value.number)]
    if isinstance(value, ClassStandIn) and "_paddock_class" in vars(value):
        return ["handle", hex(value._paddock_class)]
    if issubclass(kind, StandIn):
        return ["handle", hex(value._paddock_number)]
    if id(value) in _handles:
        return ["handle", hex(_handles[id(value)])]
    if isinstance(value, AssertionError):
        return ["exception", "AssertionError", ["tuple"]]
    if isinstance(value, Exception) and getattr(builtins, kind.__name__, None) is kind:
        return ["exception", kind.__name__, encode_base(value.args, depth - 1, refer)]
    if isinstance(value, (type, *_FUNCTIONS)) and _is_imported(value):
        return ["imported", value.__module__, value.__name__]
    if kind in (Counter, OrderedDict):
        return [kind.__name__, *encode_base(value, depth, refer)[1:]]
    if kind is defaultdict:
        factory = getattr(value.default_factory, "__name__", "")
        return [kind.__name__, factory if factory in _FACTORIES else "", *encode_base(value, depth, refer)[1:]]
    if kind.__module__ == "hidden_tests":
        raise PlainDataError(f"a value of the tests' own class {kind.__name__!r} cannot be passed to the candidate")
    return None


_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)


def _is_imported(value):
    """True if a class or function comes from a module of the library, which the candidate's session has too."""
    module = sys.modules.get(value.__module__ or "")
    return getattr(module, value.__name__, None) is value and not value.__module__.startswith("paddock")


_FACTORIES = {kind.__name__: kind for kind in (int, float, str, list, dict, set, tuple, bool, Counter, deque)}


def _object(number, kind):
    number, kind = int(number, 16), int(kind, 16)
    if number not in _objects:
        stand_in_class = class_of(kind)
        if issubclass(stand_in_class, Exception):
            _objects[number] = _new_exception(stand_in_class, number)
        elif issubclass(stand_in_class, StandIn):
            stand_in = _objects[number] = object.__new__(stand_in_class)
            object.__setattr__(stand_in, "_paddock_number", number)
        else:
            raise PlainDataError("the object is not of its class")
    return _objects[number]


def _new_exception(kind, number):
    try:
        args, cause = request("exception", Handle(number))
        error = kind(*args) if type(kind) is type else kind.__new__(kind, *args)
    except TypeError:
        args, cause, error = (), None, kind.__new__(kind)  # its constructor needs other arguments
    BaseException.args.__set__(error, args)
    error.__cause__ = cause if isinstance(cause, Exception) else None
    _handles[id(error)] = number
    return error


def _value(number, kind, data):
    number, stand_in_class, data = int(number, 16), class_of(int(kind, 16)), decode(data)
    base = next((base for base in stand_in_class.__mro__ if base in _VALUES.values()), None)
    if base is None or type(data) is not base:
        raise PlainDataError("the value is not of its class")
    known = _objects.get(number)
    if type(known) is stand_in_class and base.__eq__(known, data):
        return known
    value = _objects[number] = _new_value(base, stand_in_class, data)
    _handles[id(value)] = number
    return value


def _new_value(base, kind, data):
    if base in (fractions.Fraction, decimal.Decimal, int, float, complex, str, bytes, tuple, frozenset):
        return base.__new__(kind, data)
    if base is datetime.timedelta:
        return base.__new__(kind, data.days, data.seconds, data.microseconds)
    return kind.__mro__[kind.__mro__.index(base)].fromisoformat.__func__(kind, data.isoformat())


def _function(number):
    number = int(number, 16)
    if number not in _objects:
        stand_in = _objects[number] = object.__new__(Function)
        object.__setattr__(stand_in, "_paddock_number", number)
    return _objects[number]


class Function(StandIn):
    # A function or method of the candidate. Its docstring is that of the candidate.
    __slots__ = ()
    __class__ = property(lambda self: types.FunctionType)
    __doc__ = property(lambda self: get(self, "__doc__"))
    __call__ = SPECIAL["__call__"]


def _kept(make):
    """Returns a function that makes an object once for each number, and keeps it."""

    def kept(number):
        number = int(number, 16)
        if number not in _objects:
            made = _objects[number] = make(Handle(number))
            _handles[id(made)] = number
        return _objects[number]

    return kept


def _generate(handle):
    """A generator of the tests that gets its items from one of the candidate."""
    items, fetched, is_over, result = deque(), 0, False, None
    name, args = "next", ()
    while True:
        try:
            if items:
                item = items.popleft()
            elif is_over:
                return result
            elif name == "next" and fetched >= CHUNK_FROM:
                found, is_over, result = request("chunk", handle, CHUNK)
                items.extend(found)
                continue
            else:
                item = request(name, handle, *args)
        except Ended as end:
            return end.result
        fetched += 1
        try:
            sent = yield item
        except GeneratorExit:
            request("close", handle)
            raise
        except Exception as error:
            name, args = "advance", ("throw", error)
        else:
            name, args = ("next", ()) if sent is None else ("advance", ("send", sent))


def _linked(number, data):
    data, handle = decode(data), Handle(int(number, 16))
    kind = type(data)
    if kind not in _LINKED:
        raise PlainDataError("the container cannot be changed in place")
    linked = _LINKED[kind](data.default_factory, data) if kind is defaultdict else _LINKED[kind](data)
    linked._paddock_handle = handle
    return linked


def _new_linked(kind):
    """Returns a container type whose changes in a test also change the candidate's container."""

    def mutator(name):
        change = getattr(kind, name)

        def changed(self, *args, **kwargs):
            result = change(self, *args, **kwargs)
            if "_paddock_handle" in vars(self):
                is_mapping = isinstance(self, dict)
                request("replace", self._paddock_handle, dict(self) if is_mapping else list(self))
            return result

        return changed

    space = {name: mutator(name) for name in _MUTATORS if hasattr(kind, name)}
    space |= {"__repr__": lambda self: kind.__repr__(kind(self))} if kind in (set, deque) else {}
    return type(kind.__name__, (kind,), space)


_LINKED = {kind: _new_linked(kind) for kind in (list, dict, set, deque, Counter, OrderedDict, defaultdict)}


def exception(raised, base, message, error=None):
    """Returns the candidate's exception: of a stand-in for its class, of its built-in base, or a CandidateError."""
    if isinstance(error, Exception):
        return error
    kind = getattr(builtins, base, None)
    is_fit = isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, _ENDINGS)
    if is_fit and (raised == base or kind is not Exception):
        try:
            return kind(message)
        except TypeError:
            pass  # its constructor needs other arguments
    return CandidateError(f"{raised}: {message}")


hooks.update({"refer": refer, "exception": exception})
BUILDERS.update({
    "object": _object,
    "value": _value,
    "function": _function,
    "linked": _linked,
    "class": lambda number: class_of(int(number, 16)),
    "generator": _kept(_generate),
    "coroutine": _kept(awaited),
    "Counter": lambda *items: Counter(dict(BUILDERS["dict"](*items))),
    "OrderedDict": lambda *items: OrderedDict(BUILDERS["dict"](*items)),
    "defaultdict": lambda factory, *items: defaultdict(_FACTORIES.get(factory), BUILDERS["dict"](*items)),
})
