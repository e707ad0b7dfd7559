"""Values as JSON, with types that JSON lacks. The client and the sandbox both use it; reading a value runs no code of it."""

from __future__ import annotations

import base64
import datetime
import decimal
import fractions
import importlib
import sys
from typing import Any, Callable

MAX_DEPTH = 64
_NUMBERS = "biufc"
"""Kinds of numpy's types whose bytes are numbers."""


def encode(value: Any, encode_other: Callable[[Any], Any], depth: int = 0) -> Any:
    """Returns a value that ``json.dumps`` accepts. ``encode_other`` is called for one of another type, or that is too deep."""

    def inner(each: Any) -> Any:
        return encode(each, encode_other, depth + 1)

    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if type(value) is int:
        return value if abs(value) < 1 << 64 else {"int": hex(value)}
    if type(value) is float:
        return value
    if depth < MAX_DEPTH:
        if isinstance(value, list):
            return [inner(each) for each in value]
        if isinstance(value, dict):
            return {"dict": [[inner(key), inner(each)] for key, each in value.items()]}
        for kind in (tuple, set, frozenset):
            if isinstance(value, kind):
                return {kind.__name__: [inner(each) for each in value]}
    simple = _SIMPLE.get(type(value).__name__)
    if simple and type(value) is simple[0]:
        return {type(value).__name__: simple[1](value)}
    return _encode_array(value) or encode_other(value)


def decode(data: Any, decode_other: Callable[[str, Any], Any], depth: int = 0) -> Any:
    """Returns the value of ``encode``. ``decode_other(tag, data)`` is called for an unknown tag. Raises ``ValueError``."""

    def read(each: Any) -> Any:
        return decode(each, decode_other, depth + 1)

    if depth > MAX_DEPTH + 1:
        raise ValueError("the value is nested too deeply")
    if isinstance(data, list):
        return [read(each) for each in data]
    if not isinstance(data, dict):
        return data
    try:
        [(tag, inner)] = data.items()
        if tag == "dict":
            return {read(key): read(each) for key, each in inner}
        if tag in _COLLECTIONS:
            return _COLLECTIONS[tag](map(read, inner))
        if tag in _SIMPLE:
            return _SIMPLE[tag][2](inner)
        if tag == "int":
            return int(inner, 16)
        if tag == "ndarray":
            return _decode_array(*inner)
        if tag == "Image":
            return _decode_image(*inner)
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise ValueError(f"the value is invalid: {error}") from error
    return decode_other(tag, inner)


def _encode_array(value: Any) -> Any:
    numpy, image = sys.modules.get("numpy"), sys.modules.get("PIL.Image")
    if numpy and isinstance(value, numpy.generic) and value.dtype.kind in _NUMBERS:
        return encode(value.item(), _refuse)
    if numpy and type(value) is numpy.ndarray and value.dtype.kind in _NUMBERS:
        return {"ndarray": [value.dtype.str, list(value.shape), _to_base64(value.tobytes())]}
    if image and isinstance(value, image.Image) and value.mode in _MODES:
        return {"Image": [value.mode, list(value.size), _to_base64(value.tobytes())]}
    return None


def _refuse(value: Any) -> Any:
    raise ValueError(f"the number {value!r} cannot be sent")


def _decode_array(kind: str, shape: list[int], text: str) -> Any:
    numpy = importlib.import_module("numpy")
    if numpy.dtype(kind).kind not in _NUMBERS:
        raise ValueError(f"an array of {kind!r} cannot be read")
    return numpy.frombuffer(base64.b64decode(text), dtype=kind).reshape(shape).copy()


_MODES = {"1": 1, "L": 8, "LA": 16, "RGB": 24, "RGBA": 32}
"""Modes of images by the bits of a pixel."""


def _decode_image(mode: str, size: list[int], text: str) -> Any:
    pixels, (width, height) = base64.b64decode(text), size
    if width < 1 or height < 1 or (width * _MODES[mode] + 7) // 8 * height != len(pixels):
        raise ValueError("the size of the image is not that of its data")
    return importlib.import_module("PIL.Image").frombytes(mode, (width, height), pixels)


def _to_base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _seconds(value: datetime.timedelta) -> list[int]:
    return [value.days, value.seconds, value.microseconds]


_COLLECTIONS: dict[str, Callable[[Any], Any]] = {"tuple": tuple, "set": set, "frozenset": frozenset}
_SIMPLE: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "bytes": (bytes, _to_base64, base64.b64decode),
    "bytearray": (bytearray, _to_base64, lambda text: bytearray(base64.b64decode(text))),
    "complex": (complex, lambda value: [value.real, value.imag], lambda pair: complex(*pair)),
    "range": (range, lambda value: [value.start, value.stop, value.step], lambda parts: range(*parts)),
    "datetime": (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    "date": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    "time": (datetime.time, datetime.time.isoformat, datetime.time.fromisoformat),
    "timedelta": (datetime.timedelta, _seconds, lambda parts: datetime.timedelta(*parts)),
    "Decimal": (decimal.Decimal, str, decimal.Decimal),
    "Fraction": (
        fractions.Fraction,
        lambda value: [hex(value.numerator), hex(value.denominator)],
        lambda parts: fractions.Fraction(*(int(part, 16) for part in parts)),
    ),
}
"""Types by their names, how they are written and how they are read."""
