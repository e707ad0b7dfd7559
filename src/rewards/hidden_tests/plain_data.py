"""Values as plain data: JSON that keeps Python's types, and nothing that runs when it is read."""

import json

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
    except (TypeError, ValueError, OverflowError) as error:
        raise PlainDataError(f"this is no plain data: {error}") from None


def _encoded(value, depth):
    # The methods are those of the classes themselves, so that what a subclass overrides says nothing.
    if depth < 0:
        raise TooDeepError("the value is nested too deep")
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
    if isinstance(value, bytes):
        return ["bytes", bytes.hex(value)]
    if isinstance(value, dict):
        return ["dict", *([_encoded(part, depth - 1) for part in item] for item in dict.items(value))]
    for kind in (list, tuple, set, frozenset):
        if isinstance(value, kind):
            return [kind.__name__, *(_encoded(item, depth - 1) for item in kind.__iter__(value))]
    raise PlainDataError(f"a value of type {type(value).__name__!r} is no plain data")


_BUILDERS = {
    "int": lambda text: int(text, 16),
    "float": float.fromhex,
    "complex": lambda real, imag: complex(float.fromhex(real), float.fromhex(imag)),
    "bytes": bytes.fromhex,
    "dict": lambda *items: {decode(key): decode(value) for key, value in items},
    "list": lambda *items: [decode(item) for item in items],
    "tuple": lambda *items: tuple(decode(item) for item in items),
    "set": lambda *items: {decode(item) for item in items},
    "frozenset": lambda *items: frozenset(decode(item) for item in items),
}
