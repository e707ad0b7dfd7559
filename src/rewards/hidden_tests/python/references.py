"""Decides which objects of the candidate cross as plain data, and which ones the tests refer to. Describes classes."""

import types
from collections import Counter, OrderedDict, defaultdict, deque
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction

LINKABLE = {list, dict, set, deque, Counter, OrderedDict, defaultdict}
"""Containers that the tests can change in place where they are an attribute of an object."""

MAPPINGS = {Counter, OrderedDict, defaultdict}

_VALUES = (bool, int, float, complex, str, bytes, tuple, frozenset, Fraction, Decimal, date, datetime, time, timedelta)
"""Immutable types. A value of a subclass crosses together with a reference to its methods."""

_CONTAINERS = (list, dict, set, deque, bytearray, range, type({}.keys()), type({}.values()), type({}.items()))

_PLAIN = {*_VALUES, *_CONTAINERS, type(None)}

_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)


def how_to_refer(value, is_known):
    """Returns `plain`, or how to refer to a value. The tests know a class if they name it or a base of it."""
    kind = type(value)
    if kind in _PLAIN:
        return "plain"
    if isinstance(value, type):
        return "class"
    if kind in _FUNCTIONS:
        return "function"
    if kind is types.GeneratorType:
        return "generator"
    if kind is types.CoroutineType:
        return "coroutine"
    if issubclass(kind, _VALUES):
        return "value"
    if issubclass(kind, _CONTAINERS) and not is_known:
        return "plain"
    return "object"


def describe(kind, number):
    """
    Returns the name of a class, its bases by number, its nearest plain or built-in base, its special methods and those
    of its own, and the names of its fields.
    """
    bases = [number(base) for base in kind.__bases__ if base.__module__ == "candidate"]
    builtin = next((base for base in kind.__mro__ if base in _PLAIN or base in LINKABLE), None)
    if builtin is None and issubclass(kind, BaseException):
        builtin = next(base for base in kind.__mro__ if base.__module__ == "builtins")
    methods = [name for name in dir(kind) if name.startswith("__") and _has(kind, name)]
    own = [
        name
        for name in methods
        if any(name in vars(base) and base.__module__ != "builtins" for base in kind.__mro__)
    ]
    fields = getattr(kind, "_fields", None)
    return [
        kind.__name__,
        bases,
        builtin.__name__ if builtin else "",
        methods,
        own,
        [str(field) for field in fields] if type(fields) is tuple else None,
    ]


def _has(kind, name):
    return getattr(kind, name, None) is not None
