"""Holds the candidate's program and calls it. What the program changes in here is its own loss."""

import builtins
import json
import sys
import types

from paddock_plain_data import decode, encode
from paddock_prompt import compiled_prompt

_module = types.ModuleType("candidate")
_dumps = json.dumps
_loads = json.loads


class Answer:
    """A text that crosses as it is: the host sees the repr of a block's last expression."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def load(prompt, program):
    """Runs the prompt, where it is code, and then the program, in a module of their own."""
    sys.modules["candidate"] = _module
    beginning = compiled_prompt(prompt)
    if beginning is not None:
        exec(beginning, _module.__dict__)
    exec(compile(program, "<candidate>", "exec"), _module.__dict__)
    return Answer("loaded")


def call(name, arguments):
    """
    Calls what the program defines under a name, or under an expression such as `Solution().run`. A built-in
    function is none of them.
    """
    try:
        args, kwargs = decode(_loads(arguments))
        result = eval(name, {"__builtins__": {}}, _module.__dict__)(*args, **kwargs)
        return Answer(f'{{"value": {encode(result)}}}')
    except Exception as error:
        kind = type(error)
        names = (base.__name__ for base in kind.__mro__ if getattr(builtins, base.__name__, None) is base)
        return Answer(_dumps({"raised": kind.__name__, "base": next(names), "message": str(error)[:1000]}))
