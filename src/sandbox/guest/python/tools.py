"""Host tools that Python may call: `from paddock import tools; tools.add(a=1, b=2)`."""

import asyncio
import json

MAX_DEPTH = 64
MAX_VALUES = 99_000
MAX_BYTES = 16 * 2**20 - 1024
"""The host kills an interpreter that sends more. This check makes sure that a program cannot."""

SCALARS = frozenset((str, int, float, bool, type(None)))

_encode = json.JSONEncoder(allow_nan=False).encode
_scan = json.JSONDecoder().scan_once
"""Saved: `json.dumps` makes a new encoder at each call, and `json.loads` uses names that a program can replace."""


class ToolError(Exception):
    """A host tool failed, was refused or is not granted; the message says which."""


class Tool:
    """One host tool. Call it with keyword arguments, or await its `call_async`."""

    def __init__(self, spec):
        self.__name__ = spec["name"]
        self.__doc__ = spec["description"]
        self.parameters = spec["parameters"]

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
        if not args:
            return kwargs
        names = self._names()
        if len(args) > len(names):
            raise TypeError(f"{self.__name__}() takes {len(names)} arguments but {len(args)} were given")
        return {**dict(zip(names, args)), **kwargs}


class Tools:
    """The host tools granted to the running block, as attributes."""

    def __getattr__(self, name):
        if name in _granted:
            return _granted[name]
        granted = ", ".join(sorted(_granted)) or "none"
        raise AttributeError(f"no host tool {name!r} is granted to this block (granted: {granted})")

    def __dir__(self):
        return sorted(_granted)


_granted = {}
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
    for spec in specs:
        _granted[spec["name"]] = Tool(spec)


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
    """Waits for a reply, for at most `ms`, and delivers it. The worker takes one in each wait."""
    if not _bridge.wait(ms):
        return
    reply, _ = _scan(_bridge.take_reply().decode("utf-8", "surrogatepass"), 0)
    future = _waiting.get(reply["call"])
    if future is None:
        _replies[reply["call"]] = reply
    elif not future.done():
        future.set_result(reply)


def _result(reply):
    if "error" in reply:
        raise ToolError(reply["error"])
    return reply.get("value")


tools = Tools()
