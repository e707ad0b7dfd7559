"""Checks the arguments of a tool against its JSON Schema before the call leaves the sandbox.

Keywords that are missing here, such as `pattern`, are left to the host, which checks all arguments again.
"""

import base64

MAX_SHOWN = 80
"""Characters of a value in an error message."""
MAX_REFERENCES = 16
BINARY_FORMATS = frozenset(("base64", "byte", "binary"))

_b64encode = base64.b64encode
_bytes = (bytes, bytearray, memoryview)
_kinds = {
    "string": (frozenset((str,)), "a string"),
    "integer": (frozenset((int,)), "a whole number"),
    "number": (frozenset((int, float)), "a number"),
    "boolean": (frozenset((bool,)), "true or false"),
    "null": (frozenset((type(None),)), "None"),
    "array": (frozenset((list, tuple)), "a list"),
    "object": (frozenset((dict,)), "a dict"),
}


class Misfit(Exception):
    """A value does not fit a schema. `path` has the keys from the outermost value to this one."""

    def __init__(self, reason):
        super().__init__(reason)
        self.path = []

    def __str__(self):
        reason = self.args[0]
        return f"{'.'.join(map(str, reversed(self.path)))}: {reason}" if self.path else reason


def fitting(schema):
    """Returns a function that returns arguments in the form of a call, or raises `Misfit`."""
    return _Compiler(schema).of(schema) or _as_it_is


class _Compiler:
    def __init__(self, root):
        self._root = root
        self._by_reference = {}

    def of(self, schema):
        """Returns the check of a schema; `None` if every value fits."""
        if not isinstance(schema, dict):
            return None
        reference = schema.get("$ref")
        if isinstance(reference, str):
            return self._referenced(reference)
        checks = [self._typed(schema), _listed(schema), *map(self.of, _lists(schema, "allOf"))]
        for keyword in ("anyOf", "oneOf"):
            choices = _lists(schema, keyword)
            if choices:
                checks.append(_any_of([self.of(choice) for choice in choices]))
        checks = [check for check in checks if check is not None]
        return checks[0] if len(checks) == 1 else _all_of(checks) if checks else None

    def _referenced(self, reference):
        """Returns a check that is compiled when it is first needed, as schemas may refer to themselves."""
        found = self._by_reference

        def check(value):
            if reference not in found:
                found[reference] = self.of(self._resolve(reference))
            return value if found[reference] is None else found[reference](value)

        return check

    def _resolve(self, reference):
        for _ in range(MAX_REFERENCES):
            if not reference.startswith("#/"):
                return None
            schema = self._root
            for name in reference[2:].split("/"):
                name = name.replace("~1", "/").replace("~0", "~")
                schema = schema.get(name) if isinstance(schema, dict) else None
            if not isinstance(schema, dict) or not isinstance(schema.get("$ref"), str):
                return schema
            reference = schema["$ref"]
        return None  # a circle, which fits every value

    def _typed(self, schema):
        types = schema.get("type")
        names = types if isinstance(types, list) else [types]
        if not all(isinstance(name, str) and name in _kinds for name in names):
            return None
        checks = [self._of_type(name, schema) for name in names]
        return checks[0] if len(checks) == 1 else _any_of(checks)

    def _of_type(self, name, schema):
        if name == "object":
            return self._object(schema)
        if name == "array":
            return self._array(schema)
        bounds = _bounds(name, schema)
        binary = name == "string" and (
            schema.get("contentEncoding") == "base64" or schema.get("format") in BINARY_FORMATS
        )
        return _scalar(name, bounds, binary)

    def _object(self, schema):
        properties = schema.get("properties")
        checks = {name: self.of(part) for name, part in (properties or {}).items()}
        required = [name for name in schema.get("required", ()) if isinstance(name, str)]
        additional = schema.get("additionalProperties")
        is_closed = additional is False and "patternProperties" not in schema
        others = None if "patternProperties" in schema else self.of(additional)

        def check(value):
            if not isinstance(value, dict):
                raise _unlike("a dict", value)
            for name in required:
                if name not in value:
                    raise _at(name, Misfit("it is missing"))
            changed = None
            for name, part in value.items():
                if name in checks:
                    inner = checks[name]
                elif is_closed:
                    raise Misfit(f"unknown key {name!r}")
                else:
                    inner = others
                if inner is not None:
                    try:
                        fit = inner(part)
                    except Misfit as misfit:
                        raise _at(name, misfit) from None
                    if fit is not part:
                        changed = changed or {}
                        changed[name] = fit
            return {**value, **changed} if changed else value

        return check

    def _array(self, schema):
        inner = self.of(schema.get("items"))
        first = [self.of(part) for part in _lists(schema, "prefixItems")]
        size = _size("minItems", "maxItems", "items", schema)

        def check(value):
            if not isinstance(value, (list, tuple)):
                raise _unlike("a list", value)
            if size is not None:
                size(value)
            if inner is None and not first:
                return value
            fit = [_item(at, part, first[at] if at < len(first) else inner) for at, part in enumerate(value)]
            return fit if any(map(_is_other, fit, value)) else value

        return check


def _scalar(name, bounds, binary):
    kinds, noun = _kinds[name]

    def check(value):
        if type(value) not in kinds:
            if binary and isinstance(value, _bytes):
                return _b64encode(value).decode()
            _require_kind(name, noun, value)
        if bounds is not None:
            bounds(value)
        return value

    return check


def _require_kind(name, noun, value):
    """Accepts instances of subclasses, and whole numbers that are floats."""
    if isinstance(value, bool):
        fits = name == "boolean"
    elif name == "integer" and isinstance(value, float):
        fits = value.is_integer()
    else:
        fits = isinstance(value, tuple(_kinds[name][0]))
    if not fits:
        raise _unlike(noun, value)


def _bounds(name, schema):
    if name == "string":
        return _size("minLength", "maxLength", "characters", schema)
    if name in ("integer", "number"):
        return _range(schema)
    return None


def _size(low_name, high_name, noun, schema):
    low, high = _number(schema, low_name), _number(schema, high_name)
    if low is None and high is None:
        return None

    def check(value):
        if low is not None and len(value) < low:
            raise Misfit(f"must have at least {low} {noun}: it has {len(value)}")
        if high is not None and len(value) > high:
            raise Misfit(f"must have at most {high} {noun}: it has {len(value)}")

    return check


def _range(schema):
    low, high = _number(schema, "minimum"), _number(schema, "maximum")
    above, below = _number(schema, "exclusiveMinimum"), _number(schema, "exclusiveMaximum")
    if low is high is above is below is None:
        return None

    def check(value):
        if low is not None and value < low:
            raise Misfit(f"must be at least {low}: found {_shown(value)}")
        if high is not None and value > high:
            raise Misfit(f"must be at most {high}: found {_shown(value)}")
        if above is not None and value <= above:
            raise Misfit(f"must be more than {above}: found {_shown(value)}")
        if below is not None and value >= below:
            raise Misfit(f"must be less than {below}: found {_shown(value)}")

    return check


def _listed(schema):
    """Returns the check of `enum` or `const`."""
    if "const" in schema:
        values = [schema["const"]]
    else:
        values = _lists(schema, "enum")
    if not values:
        return None

    def check(value):
        if not any(isinstance(value, bool) == isinstance(each, bool) and value == each for each in values):
            choices = ", ".join(map(repr, values[:20])) + (", …" if len(values) > 20 else "")
            raise Misfit(f"must be {'one of ' if len(values) > 1 else ''}{choices}: found {_shown(value)}")
        return value

    return check


def _any_of(checks):
    if None in checks:
        return None

    def check(value):
        deepest = None
        for each in checks:
            try:
                return each(value)
            except Misfit as misfit:
                if deepest is None or len(misfit.path) > len(deepest.path):
                    deepest = misfit
        if len(checks) == 1 or deepest.path:
            raise deepest
        raise Misfit(f"must have one of its forms: found {_shown(value)}")

    return check


def _all_of(checks):
    def check(value):
        for each in checks:
            value = each(value)
        return value

    return check


def _item(at, part, check):
    if check is None:
        return part
    try:
        return check(part)
    except Misfit as misfit:
        raise _at(at, misfit) from None


def _is_other(one, other):
    return one is not other


def _as_it_is(value):
    return value


def _at(key, misfit):
    misfit.path.append(key)
    return misfit


def _unlike(noun, value):
    return Misfit(f"must be {noun}: found {_shown(value)}")


def _shown(value):
    if isinstance(value, (list, tuple)):
        return "a list"
    if isinstance(value, dict):
        return "a dict"
    if isinstance(value, (str, bytes)):
        value = value[: MAX_SHOWN + 1]
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def _lists(schema, name):
    value = schema.get(name)
    return value if isinstance(value, list) else []


def _number(schema, name):
    value = schema.get(name)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
