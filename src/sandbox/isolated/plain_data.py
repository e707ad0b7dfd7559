"""Values as plain data: JSON that keeps Python's types, and nothing that runs when it is read."""

import datetime
import json
from collections import deque
from decimal import Decimal
from fractions import Fraction

MAX_DEPTH = 40
"""Of a result, which the host holds to it too. An argument may be deeper, as a test may hand a result back."""


class PlainDataError(Exception):
    """A value is not plain data, or the text is not."""


class TooDeepError(PlainDataError):
    """A value is nested deeper than any honest one."""


def encode(value, depth=MAX_DEPTH):
    return json.dumps(_encoded(value, depth))


def decode(data):
    """Builds the value of data that came out of JSON. What is no such data raises PlainDataError."""
    if data is None or type(data) in (bool, str):
        return data
    if type(data) is not list or not data or data[0] not in _BUILDERS:
        raise PlainDataError("this is no plain data")
    try:
        return _BUILDERS[data[0]](*data[1:])
    except (TypeError, ValueError, ArithmeticError) as error:
        raise PlainDataError(f"this is no plain data: {error}") from None


def _encoded(value, depth):
    # The methods are those of the classes themselves, so that what a subclass overrides says nothing.
    if depth < 0:
        raise TooDeepError("the value is nested too deep")
    exact = type(value)
    if exact is int:
        return ["int", hex(value)]
    if exact is list and depth > 0 and set(map(type, value)) == {int}:
        return ["ints", " ".join(map(hex, value))]
    if exact is list or exact is tuple:
        return [exact.__name__, *[_encoded(item, depth - 1) for item in value]]
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
    for kind, parts_of in _WHOLES.items():
        if isinstance(value, kind):
            return [kind.__name__, *(hex(int.__index__(part)) for part in parts_of(value))]
    for kind in (dict, _ITEMS):
        if isinstance(value, kind):
            pairs = dict.items(value) if kind is dict else value
            return [kind.__name__, *([_encoded(part, depth - 1) for part in pair] for pair in pairs)]
    for kind in (list, tuple, set, frozenset, deque, _KEYS, _VALUES):
        if isinstance(value, kind):
            return [kind.__name__, *(_encoded(item, depth - 1) for item in kind.__iter__(value))]
    raise PlainDataError(f"a value of type {type(value).__name__!r} is no plain data")


_KEYS, _VALUES, _ITEMS = type({}.keys()), type({}.values()), type({}.items())

_TEXTS = {
    bytes: bytes.hex,
    bytearray: bytearray.hex,
    Decimal: Decimal.__str__,
    datetime.datetime: datetime.datetime.isoformat,
    datetime.date: datetime.date.isoformat,
    datetime.time: datetime.time.isoformat,
}
"""What is written as one text; a datetime is a date too, so it comes first."""

_WHOLES = {
    range: lambda value: (value.start, value.stop, value.step),
    Fraction: lambda value: (Fraction.numerator.__get__(value), Fraction.denominator.__get__(value)),
    datetime.timedelta: lambda value: (
        getattr(datetime.timedelta, part).__get__(value) for part in ("days", "seconds", "microseconds")
    ),
}
"""What is written as some whole numbers."""

_BUILDERS = {
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
