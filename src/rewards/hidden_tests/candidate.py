"""Holds the candidate's program and calls it. Changes that the program makes in this module only harm itself."""

import json
import sys
import types

from paddock_callee import Answer, answer
from paddock_plain_data import decode
from paddock_prompt import compiled_prompt

_module = types.ModuleType("candidate")
_loads = json.loads


def load(prompt, program):
    """Runs the prompt, if it is code, and then the program, in their own module."""
    sys.modules["candidate"] = _module
    beginning = compiled_prompt(prompt)
    if beginning is not None:
        exec(beginning, _module.__dict__)
    exec(compile(program, "<candidate>", "exec"), _module.__dict__)
    return Answer("loaded")


def call(name, arguments):
    """
    Calls a function that the program defines, by its name or by an expression such as `Solution().run`. Built-in
    functions cannot be called.
    """

    def called():
        args, kwargs = decode(_loads(arguments))
        return eval(name, {"__builtins__": {}}, _module.__dict__)(*args, **kwargs)

    return answer(called)
