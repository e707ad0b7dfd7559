"""Holds a submission and calls it. What the submission changes in here is its own loss."""

import base64
import importlib
import marshal
import os
import sys

from paddock_callee import Answer, answer

_import = importlib.import_module
_read = marshal.loads
_unpack = base64.b64decode


def load():
    """Makes the files of the working directory importable; none is imported before it is called."""
    sys.path.insert(0, os.getcwd())
    return Answer("loaded")


def call(name):
    """Calls `function` of `module.function` once, or once for each of many lists of arguments, which come on stdin."""
    arguments = sys.stdin.read()

    def called():
        many, calls = _read(_unpack(arguments))
        module, _, attribute = name.rpartition(".")
        function = getattr(_import(module), attribute)
        if not many:
            args, kwargs = calls
            return function(*args, **kwargs)
        return [function(*args) for args in calls]

    return answer(called)
