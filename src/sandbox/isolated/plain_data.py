"""Values as plain data: JSON that keeps Python's types, and that runs no code when it is decoded."""

import datetime
import json
from collections import deque
from decimal import Decimal
from fractions import Fraction

MAX_DEPTH = 80
"""Maximum depth of a result, which the host checks too, and of an argument."""


class PlainDataError(Exception):
    """A value, or encoded data, is not plain data."""


class TooDeepError(PlainDataError):
    """A value is nested too deep."""


def encode(value, depth=MAX_DEPTH, refer=None):
    """Returns a value as JSON. `refer(value, depth)` may encode a value its own way; it returns None otherwise."""
    return json.dumps(_encode(value, depth, refer))


def decode(data):
    """Builds the value of parsed JSON. Raises PlainDataError if it is not encoded plain data."""
    if data is None or type(data) in (bool, str):
        return data
    if type(data) is not list or not data or data[0] not in BUILDERS:
        raise PlainDataError("the data is not plain data")
    try:
        return BUILDERS[data[0]](*data[1:])
    except (TypeError, ValueError, ArithmeticError) as error:
        raise PlainDataError(f"the data is not plain data: {error}") from None


def _encode(value, depth, refer):
    if depth < 0:
        raise TooDeepError("the value is nested too deep")
    if type(value) is int:
        return ["int", hex(value)]
    encoded = None if refer is None else refer(value, depth)
    return encode_base(value, depth, refer) if encoded is None else encoded


def encode_base(value, depth, refer=None):
    """Encodes a value as its base class. `refer` only applies to the values inside."""
    # Methods are called on the base classes, so that overrides in a subclass have no effect.
    exact = type(value)
    if exact is list and depth > 0 and set(map(type, value)) == {int}:
        return ["ints", " ".join(map(hex, value))]
    if exact is list or exact is tuple:
        return [exact.__name__, *[_encode(item, depth - 1, refer) for item in value]]
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return ["int", hex(int.__index__(value))]
    if isinstance(value, float):
        return ["float", float.hex(value)]
    if isinstance(value, complex):
        return ["complex", *(float.hex(part) for part in (value.real, value.imag))]
    for kind, text_of in _TEXTS.items():
        if isinstance(value, kind):
            return [kind.__name__, text_of(value)]
    for kind, parts_of in _INTEGERS.items():
        if isinstance(value, kind):
            return [kind.__name__, *(hex(int.__index__(part)) for part in parts_of(value))]
    for kind in (dict, _ITEMS):
        if isinstance(value, kind):
            pairs = dict.items(value) if kind is dict else value
            return [kind.__name__, *([_encode(part, depth - 1, refer) for part in pair] for pair in pairs)]
    for kind in (list, tuple, set, frozenset, deque, _KEYS, _VALUES):
        if isinstance(value, kind):
            return [kind.__name__, *(_encode(item, depth - 1, refer) for item in kind.__iter__(value))]
    raise PlainDataError(f"a value of type {type(value).__name__!r} is not plain data")


_KEYS, _VALUES, _ITEMS = type({}.keys()), type({}.values()), type({}.items())

_TEXTS = {
    bytes: bytes.hex,
    bytearray: bytearray.hex,
    Decimal: Decimal.__str__,
    datetime.datetime: datetime.datetime.isoformat,
    datetime.date: datetime.date.isoformat,
    datetime.time: datetime.time.isoformat,
}
"""Types that are encoded as one string. datetime comes before date, since it is a subclass."""

_INTEGERS = {
    range: lambda value: (value.start, value.stop, value.step),
    Fraction: lambda value: (Fraction.numerator.__get__(value), Fraction.denominator.__get__(value)),
    datetime.timedelta: lambda value: (
        getattr(datetime.timedelta, part).__get__(value) for part in ("days", "seconds", "microseconds")
    ),
}
"""Types that are encoded as integers."""

BUILDERS = {
    "int": lambda text: int(text, 16),
    "ints": lambda texts: [int(text, 16) for text in texts.split(" ")],
    "float": float.fromhex,
    "complex": lambda real, imag: complex(float.fromhex(real), float.fromhex(imag)),
    "bytes": bytes.fromhex,
    "bytearray": bytearray.fromhex,
    "Decimal": Decimal,
    "Fraction": lambda over, under: Fraction(int(over, 16), int(under, 16)),
    "datetime": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "timedelta": lambda *parts: datetime.timedelta(*(int(part, 16) for part in parts)),
    "range": lambda *parts: range(*(int(part, 16) for part in parts)),
    "dict": lambda *items: {decode(key): decode(value) for key, value in items},
    "dict_items": lambda *items: {decode(key): decode(value) for key, value in items}.items(),
    "dict_keys": lambda *items: dict.fromkeys(decode(item) for item in items).keys(),
    "dict_values": lambda *items: dict(enumerate(decode(item) for item in items)).values(),
    "list": lambda *items: [decode(item) for item in items],
    "tuple": lambda *items: tuple(decode(item) for item in items),
    "set": lambda *items: {decode(item) for item in items},
    "frozenset": lambda *items: frozenset(decode(item) for item in items),
    "deque": lambda *items: deque(decode(item) for item in items),
}
