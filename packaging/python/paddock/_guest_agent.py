# Gives programs of a session the tools and variables of an agent. It runs in the sandbox, as the end of _values.py.

import json

from paddock import tools

MAX_REPR = 10_000


class FinalAnswer(BaseException):
    """Ends a program that has given its final answer."""


class HostObject:
    """An object of the agent's process, which its tools accept. Here it has a text only."""

    def __init__(self, number, kind, text):
        self._number, self._kind, self._text = number, kind, text

    def __repr__(self):
        return self._text


def encode_object(value):
    if isinstance(value, HostObject):
        return {"host": [value._number, value._kind, value._text]}
    return {"repr": [type(value).__name__, repr(value)[:MAX_REPR]]}


def decode_object(tag, data):
    if tag != "host":
        raise ValueError(f"the tag {tag!r} is unknown")
    return HostObject(*data)


def define(name, description):
    def call(*args, **kwargs):
        arguments = json.dumps(encode([list(args), {**kwargs}], encode_object))
        answer = tools.call_tool(name=name, arguments=arguments)
        if name == "final_answer":
            raise FinalAnswer
        return decode(json.loads(answer), decode_object)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = description
    return call


def install(names, *, descriptions, variables):
    names.update({name: define(name, text) for name, text in descriptions.items()})
    names.update(decode(variables, decode_object))


install(TARGET, **json.loads(REQUEST))
