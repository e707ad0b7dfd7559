"""Values that enter a block as inputs, and what its outcome consists of. No code of the program runs in this module."""

import array
import itertools
import json.encoder
import struct

MAX_DEPTH = 32
MAX_VALUES = 100_000
MAX_BYTES = 1 << 20
MAX_INT = 2**53 - 1

TYPE_CODES = {
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
}

_array, _loads, _chain = array.array, json.loads, itertools.chain.from_iterable
_lists = frozenset((list, tuple))
_containers = _lists | {dict}
_plain = _containers | {type(None), bool, int, float, str}
_encode = json.encoder.c_make_encoder(
    None, None, json.encoder.encode_basestring_ascii, None, ":", ",", False, False, False
)


def set_inputs(specs, namespace):
    """Sets the inputs of a block, each described by its name and its type."""
    for name, kind in specs:
        data = _bridge.take_input()
        if kind == "json":
            data = _loads(data)
        elif kind != "bytes":
            data = _array(TYPE_CODES[kind], data)
        namespace[name] = data


OUTCOME_HEAD = struct.Struct("<BBIII")
"""The status of an outcome, its exit code or flags of its value, and the lengths of three texts, in bytes."""
HAS_VALUE, IS_CUT = 2, 1
STATUSES = {"ok": 0, "error": 1, "memory": 2, "interrupted": 3, "exited": 4}
_pack, _encode_text, _get = OUTCOME_HEAD.pack, str.encode, dict.get
OK_BYTES = _pack(0, 0, 0, 0, 0)


def encode_outcome(outcome):
    """Returns the head of an outcome, its texts, and the counts of refused attempts as JSON, if there are any."""
    if len(outcome) == 1:
        return OK_BYTES
    flag, texts = _get(outcome, "exitCode", 0), ()
    value, error = _get(outcome, "value"), _get(outcome, "error")
    if value is not None:
        flag, texts = HAS_VALUE | outcome["cut"], (value[0], value[1] or "", "")
    elif error is not None:
        texts = error["type"], error["message"], error["traceback"]
    parts = [_encode_text(text, "utf-8", "backslashreplace") for text in texts] or [b"", b"", b""]
    head = _pack(STATUSES[outcome["status"]], flag, len(parts[0]), len(parts[1]), len(parts[2]))
    denied = _get(outcome, "denied")
    if denied is not None:
        parts.append("".join(_encode(denied, 0)).encode())
    return b"".join((head, *parts))


def json_of(value, max_bytes):
    """
    Returns the JSON of plain data, or None for other values and for too large ones. Plain are None, booleans, integers
    that a double can represent, finite floats, text, lists, tuples, and dicts with keys of text. Types must be exact: an
    instance of a subclass is not plain, so its methods are not called.
    """
    if type(value) is int:
        return str(value) if -MAX_INT <= value <= MAX_INT else None
    max_bytes = min(max_bytes, MAX_BYTES)
    try:
        text = "".join(_encode(value, 0)) if _is_plain(value, max_bytes) else ""
    except Exception:
        return None  # a float is not finite, or a text has an unpaired surrogate
    return text if 0 < len(text) <= max_bytes else None


def _of_type(kind, values, kinds):
    """Returns the values of a type. `kinds` has the types of all values."""
    if kinds == {kind}:
        return values
    return [each for each in values if type(each) is kind] if kind in kinds else []


def _is_plain(value, max_characters):
    """True for plain data within the limits. It looks at one level of nesting after the other, as C code is fast."""
    level, values, characters = [value], 1, 0
    for depth in range(MAX_DEPTH + 1):
        kinds = set(map(type, level))
        if not kinds <= _plain:
            return False
        texts = _of_type(str, level, kinds)
        if int in kinds:
            numbers = _of_type(int, level, kinds)
            if min(numbers) < -MAX_INT or max(numbers) > MAX_INT:
                return False
        following = []
        if kinds & _containers:
            lists = [each for each in level if type(each) in _lists]
            dicts = _of_type(dict, level, kinds)
            values += sum(map(len, lists)) + sum(map(len, dicts))
            keys = list(_chain(dicts)) if values <= MAX_VALUES else [None]
            if depth == MAX_DEPTH or set(map(type, keys)) - {str} or "__proto__" in keys:
                return False
            texts = [*texts, *keys]
            following = [*_chain(lists), *_chain(map(dict.values, dicts))]
        characters += sum(map(len, texts))
        if characters > max_characters:
            return False
        if not all(map(str.isascii, texts)):
            for text in texts:
                text.encode()
        if not following:
            return True
        level = following
    return False
