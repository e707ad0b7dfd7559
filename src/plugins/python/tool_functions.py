"""Describes the functions of a user's file as tools, and calls them with arguments of JSON."""

import collections.abc
import dataclasses
import enum
import inspect
import re
import types
import typing

from paddock_user_file import ACTIONS, CONTRACTS, Problem, functions_of, line_of, result_of, shown, user_module

_PLAIN = {
    typing.Any: {},
    type(None): {"type": "null"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    list: {"type": "array"},
    tuple: {"type": "array"},
    dict: {"type": "object"},
}
"""JSON Schemas of types without arguments."""
_MAX_INTEGER = 2**53 - 1

_tools = {}
"""Functions that are tools, with their type hints: `{ name: (function, hints) }`."""


def describe_tools(module):
    """Returns the descriptions of the tools of a module: those of its list `tools`, else all public functions."""
    for function in _tool_functions(module):
        name = function.__name__
        if name in _tools:
            raise Problem(f"each tool must have a unique name: {name}() is there twice", line_of(function))
        _tools[name] = (function, _hints_of(function, name))
    return [_describe(name) for name in _tools]


def _tools_contract(module):
    tools = describe_tools(module)
    if not tools:
        raise Problem("it must define functions with type hints, which are the tools: found none")
    return {"tools": tools}


def _tool_functions(module):
    chosen = getattr(module, "tools", None)
    if chosen is None:
        return [getattr(module, name) for name in functions_of(module)]
    if not isinstance(chosen, (list, tuple)) or not all(inspect.isfunction(each) for each in chosen):
        raise Problem(f"'tools' must be a list of functions: found {shown(chosen)}")
    return chosen


def _hints_of(function, name):
    try:
        return typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise Problem(f"the type hints of {name}() must name known types: {error}", line_of(function)) from error


def _describe(name):
    function, hints = _tools[name]
    line = line_of(function)
    text, notes = split_docstring(inspect.getdoc(function) or "")
    properties = {}
    required = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise Problem(f"the parameters of {name}() must have names: found '{parameter}'", line)
        if parameter.name not in hints:
            raise Problem(
                f"the parameter '{parameter.name}' of {name}() must have a type hint, as in '{parameter.name}: str': "
                "found none",
                line,
            )
        schema = dict(_schema(hints[parameter.name], f"the type of '{parameter.name}' of {name}()", line))
        if parameter.name in notes and "description" not in schema:
            schema["description"] = notes[parameter.name]
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        elif isinstance(parameter.default, (str, int, float, bool)) and not isinstance(parameter.default, enum.Enum):
            schema["default"] = parameter.default
        properties[parameter.name] = schema
    parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"name": name, "description": text, "parameters": parameters}


_SECTION = re.compile(r"^(?:Args|Arguments|Parameters|Returns?|Raises|Yields|Examples?|Notes?):?\s*$")
_PARAMETERS = re.compile(r"^(?:Args|Arguments|Parameters):?\s*$")
_FIELD = re.compile(r"^:(?:param|parameter|arg)\s+(?:[^:]*\s)?(\w+):\s*(.*)$")
_NOTE = re.compile(r"^(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")


def split_docstring(text):
    """Returns the description of a docstring and the notes of its parameters, in the styles of Google, NumPy and Sphinx."""
    description = []
    notes = {}
    section = None
    name = None
    indent = None
    for line in text.splitlines():
        words = line.strip()
        field = _FIELD.match(words)
        if field:
            section, name = "field", field[1]
            notes[name] = field[2]
        elif re.match(r"^:\w+[^:]*:", words):
            section, name = "field", None
        elif _SECTION.match(line):
            section, name, indent = ("parameters" if _PARAMETERS.match(line) else "other"), None, None
        elif section == "parameters" and words and set(words) != {"-"}:
            depth = len(line) - len(line.lstrip())
            indent = depth if indent is None else indent
            note = _NOTE.match(words)
            if depth <= indent and note:
                name = note[1]
                notes[name] = note[2] if indent > 0 else ""  # in the style of NumPy, the type stands here
            elif depth <= indent and indent == 0 and words.isidentifier():
                name = words
                notes[name] = ""
            elif name is not None:
                notes[name] = f"{notes[name]} {words}".strip()
        elif section == "field" and words and name is not None:
            notes[name] = f"{notes[name]} {words}".strip()
        elif section is None:
            description.append(line.rstrip())
    return "\n".join(description).strip(), {name: note for name, note in notes.items() if note}


def _is_union(origin):
    return origin is typing.Union or origin is types.UnionType


def _schema(hint, place, line):
    """Returns the JSON Schema of a type hint."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)

    def inner(each):
        return _schema(each, place, line)

    if origin is None and isinstance(hint, collections.abc.Hashable) and hint in _PLAIN:
        return _PLAIN[hint]
    if origin is typing.Annotated:
        text = " ".join(extra for extra in args[1:] if isinstance(extra, str))
        return {**inner(args[0]), **({"description": text} if text else {})}
    if origin is typing.Literal and all(value is None or isinstance(value, (str, int)) for value in args):
        return {"enum": list(args)}
    if _is_union(origin):
        return {"anyOf": [inner(arg) for arg in args]}
    if origin is list or (origin is tuple and args[1:] == (...,)):
        return {"type": "array", "items": inner(args[0])}
    if origin is tuple:
        items = [inner(arg) for arg in args]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if origin is dict and args[0] is str:
        return {"type": "object", "additionalProperties": inner(args[1])}
    if inspect.isclass(hint) and issubclass(hint, enum.Enum):
        return {"enum": [member.value for member in hint]}
    if typing.is_typeddict(hint):
        hints = typing.get_type_hints(hint, include_extras=True)
        properties = {name: inner(_unrequired(each)) for name, each in hints.items()}
        required = [
            name
            for name, each in hints.items()
            if typing.get_origin(each) is typing.Required
            or (typing.get_origin(each) is not typing.NotRequired and name in hint.__required_keys__)
        ]
        return _object(properties, required)
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint, include_extras=True)
        fields = [field for field in dataclasses.fields(hint) if field.init]
        required = [
            field.name
            for field in fields
            if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        ]
        return _object({field.name: inner(hints[field.name]) for field in fields}, required)
    raise Problem(f"{place} must be one of JSON, such as str, list[int] or Literal['a', 'b']: found {hint!r}", line)


def _unrequired(hint):
    return typing.get_args(hint)[0] if typing.get_origin(hint) in (typing.Required, typing.NotRequired) else hint


def _object(properties, required):
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _convert(value, hint):
    """Returns a value of JSON, which has been checked, as the type of a hint."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _convert(value, args[0])
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if _is_union(origin):
        exact = [arg for arg in args if type(value) is (typing.get_origin(arg) or arg)]
        return _convert(value, (exact or [arg for arg in args if arg is not type(None)])[0])
    if isinstance(value, list):
        if origin is list:
            return [_convert(each, args[0]) for each in value]
        if origin is tuple and args[1:] == (...,):
            return tuple(_convert(each, args[0]) for each in value)
        if origin is tuple:
            return tuple(_convert(each, arg) for each, arg in zip(value, args))
        return tuple(value) if hint is tuple else value
    if isinstance(value, dict):
        if origin is dict:
            return {name: _convert(each, args[1]) for name, each in value.items()}
        if typing.is_typeddict(hint) or dataclasses.is_dataclass(hint):
            hints = typing.get_type_hints(hint, include_extras=True)
            fields = {name: _convert(each, _unrequired(hints[name])) for name, each in value.items()}
            return hint(**fields)
        return value
    if inspect.isclass(hint) and issubclass(hint, enum.Enum):
        return hint(value)
    return value


def _run_tool(request):
    function, hints = _tools[request["name"]]
    arguments = {name: _convert(value, hints[name]) for name, value in request["arguments"].items()}
    value = result_of(function(**arguments))
    return _to_json(value, f"{request['name']}() must return values of JSON", line_of(function))


def _to_json(value, problem, line, depth=0):
    if depth > 60:
        raise Problem(f"{problem}, at most 60 levels deep: its result is deeper", line)
    if value is None or isinstance(value, (bool, str)):
        return value
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()  # a number of numpy
    if isinstance(value, int):
        if abs(value) > _MAX_INTEGER:
            raise Problem(f"{problem}, where integers are at most 2**53 - 1, larger ones texts: it returned {value}", line)
        return int(value)
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise Problem(f"{problem}, which has no {value}", line)
        return float(value)
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise Problem(f"{problem}, whose keys are texts: it returned the key {shown(key)}", line)
        return {key: _to_json(each, problem, line, depth + 1) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_json(each, problem, line, depth + 1) for each in value]
    raise Problem(f"{problem}: it returned {shown(value)}", line)


CONTRACTS["tools"] = _tools_contract
ACTIONS["tool"] = _run_tool
