"""Host tools that Python may call: `from paddock import tools; tools.add(a=1, b=2)`."""

import asyncio
import base64
import json

MAX_DEPTH = 64
MAX_VALUES = 99_000
MAX_BYTES = 16 * 2**20 - 1024
"""The host kills an interpreter that sends more. This check makes sure that a program cannot."""
MAX_NAMED = 20
"""Names of tools in an error message."""

SCALARS = frozenset((str, int, float, bool, type(None)))

_encode = json.JSONEncoder(allow_nan=False).encode
_scan = json.JSONDecoder().scan_once
_b64decode = base64.b64decode
"""Saved: `json.dumps` makes a new encoder at each call, and `json.loads` uses names that a program can replace."""


class ToolError(Exception):
    """A host tool failed, was refused or is not granted; the message says which."""


class ToolArgumentError(ToolError):
    """The arguments of a call do not fit the schema of the tool; the message has the path of the bad value."""


class Media:
    """Data that a tool returned, such as an image, which `display()` shows."""

    def __init__(self, data, mime_type):
        self.data = data
        self.mime_type = mime_type

    def __repr__(self):
        return f"<media {self.mime_type}, {len(self.data)} bytes>"

    def __len__(self):
        return len(self.data)

    def __bytes__(self):
        return self.data

    def _repr_mimebundle_(self, include=None, exclude=None):
        if self.mime_type == "image/svg+xml":
            return {self.mime_type: self.data.decode("utf-8", "replace")}
        kind = self.mime_type.partition("/")[0]
        is_shown = kind in ("image", "audio", "video") or self.mime_type == "application/pdf"
        return {self.mime_type: self.data} if is_shown else {}


class Tool:
    """One host tool. Call it with keyword arguments, or await its `call_async`."""

    def __init__(self, spec):
        self.__name__ = spec["name"]
        self.__doc__ = spec["description"]
        self.parameters = spec["parameters"]
        self._is_checked = spec.get("checked", False)
        self._fit = None

    def __repr__(self):
        return f"<host tool {self.__name__}({', '.join(self._names())})>"

    def __call__(self, /, *args, **kwargs):
        number = _send(self.__name__, self._arguments(args, kwargs))
        block = _block[0]
        while number not in _replies:
            if block != _block[0]:
                raise ToolError("the block that called this tool has ended")
            if _sched.threads:
                _sched.wait("a reply of the host", reply=True)
            else:
                _collect(3_600_000.0)
        return _result(_replies.pop(number))

    async def call_async(self, /, *args, **kwargs):
        """Calls the tool without blocking other tasks."""
        number = _send(self.__name__, self._arguments(args, kwargs))
        future = _waiting[number] = asyncio.get_running_loop().create_future()
        try:
            return _result(await future)
        finally:
            _waiting.pop(number, None)

    def _names(self):
        return list(self.parameters.get("properties", ()))

    def _arguments(self, args, kwargs):
        if args:
            kwargs = self._named(args, kwargs)
        if not self._is_checked:
            return kwargs
        if self._fit is None:
            self._fit = _tool_arguments.fitting(self.parameters)
        try:
            return self._fit(kwargs)
        except _tool_arguments.Misfit as misfit:
            raise ToolArgumentError(f"wrong arguments for {self.__name__!r}: {misfit}") from None

    def _named(self, args, kwargs):
        names = self._names()
        if len(args) > len(names):
            raise TypeError(f"{self.__name__}() takes {len(names)} arguments but {len(args)} were given")
        twice = kwargs.keys() & names[: len(args)]
        if twice:
            raise TypeError(f"{self.__name__}() got multiple values for argument {min(twice)!r}")
        return {**dict(zip(names, args)), **kwargs}


class Tools:
    """Host tools granted to the running block, as attributes."""

    def __init__(self, by_name, noun):
        self.__dict__["_by_name"], self.__dict__["_noun"] = by_name, noun

    def __getattr__(self, name):
        by_name = self._by_name
        if name in by_name:
            return by_name[name]
        import difflib

        names = sorted(by_name)
        left = f", and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
        granted = ", ".join(names[:MAX_NAMED]) or "none"
        nearest = difflib.get_close_matches(name, names, 1, 0.5)
        hint = f": did you mean {nearest[0]!r}?" if nearest else ""
        raise AttributeError(f"no {self._noun} {name!r} is granted to this block (granted: {granted}{left}){hint}")

    def __dir__(self):
        return sorted(self._by_name)


_granted = {}
_modules = {}
"""Tools that are offered as modules, by the name of the module and their own."""
_replies = {}
_waiting = {}
_calls = [0]
_left = [0, 0]
_block = [0]


def _begin(specs, budget):
    """Sets the tools that the next block may call, and its budget of calls."""
    _left[:] = budget, budget
    _block[0] += 1
    _granted.clear()
    _replies.clear()
    _waiting.clear()
    _modules.clear()
    for spec in specs:
        tool = _granted[spec["name"]] = Tool(spec)
        if "module" in spec:
            _modules.setdefault(spec["module"], {})[spec["alias"]] = tool
        elif "alias" in spec:
            _runner._main[spec["alias"]] = tool


def module_of(name):
    """Returns the tools of a module, for `from paddock import <name>`."""
    if name in _modules:
        return Tools(_modules[name], f"tool of {name}")
    raise AttributeError(f"module 'paddock' has no attribute {name!r}")


def _send(name, arguments):
    if _left[0] <= 0:
        raise ToolError(f"the budget of {_left[1]} host tool calls in one block is used up")
    _check_shape(name, arguments)
    payload = _encode({"call": _calls[0] + 1, "name": name, "arguments": arguments})
    if len(payload) > MAX_BYTES:
        raise ToolError(f"the arguments of {name!r} have more than {MAX_BYTES} bytes")
    _left[0] -= 1
    _calls[0] += 1
    _bridge.send_call(payload.encode())
    return _calls[0]


def _check_shape(name, arguments):
    if len(arguments) < MAX_VALUES - 1 and SCALARS.issuperset(map(type, arguments.values())):
        return
    level, values = [arguments], 0
    for _ in range(MAX_DEPTH):
        values += len(level) + sum(isinstance(part, (dict, list, tuple)) for part in level)
        if values > MAX_VALUES:
            raise ToolError(f"the arguments of {name!r} have too many values")
        level = [part for value in level for part in _parts(value)]
        if not level:
            return
    raise ToolError(f"the arguments of {name!r} are nested too deep")


def _parts(value):
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, (list, tuple)) else ()


def _collect(ms):
    """Waits for a reply or a packet, for at most `ms`, and delivers it. Returns True if there was one."""
    found = _bridge.wait(ms)
    if found == _bridge.PACKET:
        _outside.receive(_bridge.take_packet())
        return True
    if found != _bridge.REPLY:
        return False
    reply, _ = _scan(_bridge.take_reply().decode("utf-8", "surrogatepass"), 0)
    future = _waiting.get(reply["call"])
    if future is None:
        _replies[reply["call"]] = reply
    elif not future.done():
        future.set_result(reply)
    return True


def _result(reply):
    if "error" in reply:
        raise ToolError(reply["error"])
    value = reply.get("value")
    for path, mime_type in reply.get("media", ()):
        value = _with_data(value, path, mime_type)
    return value


def _with_data(value, path, mime_type):
    """Replaces the base64 text at a path by what it encodes."""
    if not path:
        data = _b64decode(value)
        return data if mime_type is None else Media(data, mime_type)
    value[path[0]] = _with_data(value[path[0]], path[1:], mime_type)
    return value


tools = Tools(_granted, "host tool")
