"""Holds the candidate's program and calls it. What the program changes in here is its own loss."""

import json
import sys
import types

from paddock_callee import Answer, answer
from paddock_plain_data import decode
from paddock_prompt import compiled_prompt

_module = types.ModuleType("candidate")
_loads = json.loads


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

    def called():
        args, kwargs = decode(_loads(arguments))
        return eval(name, {"__builtins__": {}}, _module.__dict__)(*args, **kwargs)

    return answer(called)
