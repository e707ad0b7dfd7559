"""Holds a submission and calls it. Changes that the submission makes in here affect only itself."""

import base64
import importlib
import marshal
import os
import sys
import zlib

from paddock_callee import Answer, answer

_import = importlib.import_module
_read = marshal.loads
_inflate = zlib.decompress
_unpack = base64.b64decode


def load():
    """Makes the files of the working directory importable. A module is imported at its first call."""
    sys.path.insert(0, os.getcwd())
    return Answer("loaded")


def call(name):
    """Calls `module.function` once, or once for each of several argument lists. The arguments come on stdin."""
    arguments = sys.stdin.read()

    def called():
        many, calls = _read(_inflate(_unpack(arguments)))
        module, _, attribute = name.rpartition(".")
        function = getattr(_import(module), attribute)
        if not many:
            args, kwargs = calls
            return function(*args, **kwargs)
        return [function(*args) for args in calls]

    return answer(called)
