"""Scores a submission that runs in another process: calls go through the host, and plain data come back."""

import base64
import importlib.util
import json
import marshal
import os
import sys
import types
import zlib

import paddock_numpy_stand_in
from paddock import ToolError, tools
from paddock_callee import Answer
from paddock_plain_data import PlainDataError, decode

SUBMITTED = ".submission"
"""Folder of the submitted files. They are only read; nothing in it is imported here."""

BATCH = 1000
"""Maximum number of calls in one transfer."""

MAX_ARGUMENTS = 6 * 1024 * 1024
"""Maximum size of one transfer before it is compressed, in bytes."""


class SubmissionError(Exception):
    """A call of the submission raised, or did not return plain data; `kind` names the exception's class."""

    def __init__(self, message, kind):
        super().__init__(message)
        self.kind = kind


class Submission:
    """The argument of `evaluate(submission)`: files to read, and functions that run in the other process."""

    def __init__(self, paths):
        self._paths = tuple(paths)

    def files(self):
        """Returns the submitted paths, in order."""
        return list(self._paths)

    def read(self, path):
        """Returns a submitted file as bytes."""
        if path not in self._paths:
            raise FileNotFoundError(f"there is no {path!r} in the submission")
        with open(os.path.join(_home, SUBMITTED, path), "rb") as file:
            return file.read()

    def read_text(self, path):
        """Returns a submitted file as UTF-8 text."""
        return self.read(path).decode()

    def call(self, name, /, *args, **kwargs):
        """
        Calls a function of the submission, as in `call("strategy.row_strategy", history)`. Arguments are copied, so
        `marshal` must support them. The result is plain data.
        """
        return _transfer(name, (False, (args, kwargs)))

    def map(self, name, arguments, /):
        """Calls a function once for each tuple of arguments, in few transfers, and returns the list of results."""
        calls = [tuple(args) for args in arguments]
        results = []
        for start in range(0, len(calls), BATCH):
            batch = calls[start : start + BATCH]
            answers = _transfer(name, (True, batch))
            if type(answers) is not list or len(answers) != len(batch):
                raise SubmissionError(f"{name} did not answer each call", "NoAnswer")
            results += answers
        return results


def run_module(script, paths):
    """Runs `evaluate(submission)` of a script and returns its metrics as JSON."""
    space = _run(script, "evaluation")
    return Answer(json.dumps(space["evaluate"](Submission(paths)), default=float))


def run_script(script, arguments, modules):
    """Runs a script as `__main__`, with proxies for the submission's modules; it prints its metrics."""
    sys.argv = [script, *arguments]
    if importlib.util.find_spec("numpy") is None:
        sys.modules["numpy"] = paddock_numpy_stand_in
    for module in modules:
        _install_proxy(module)
    try:
        _run(script, "__main__")
    except SystemExit as error:
        if error.code not in (None, 0):
            raise RuntimeError(f"the script exited with {error.code}") from None
    return Answer("done")


def _run(script, name):
    path = os.path.join(_home, script)
    sys.path.insert(0, os.path.dirname(path))
    module = sys.modules[name] = types.ModuleType(name)
    module.__file__ = path
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), module.__dict__)
    return module.__dict__


def _install_proxy(name):
    """Puts a proxy in place of a module of the submission and of its packages."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        path = ".".join(parts[:end])
        module = sys.modules.setdefault(path, _Proxy(path))
        if end > 1:
            setattr(sys.modules[".".join(parts[: end - 1])], parts[end - 1], module)


class _Proxy(types.ModuleType):
    """Proxy of a submission's module: each name in it is a function that runs in the other process."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} is elsewhere and has no {name!r} here")
        path = f"{self.__name__}.{name}"

        def function(*args, **kwargs):
            return _transfer(path, (False, (args, kwargs)))

        function.__name__ = function.__qualname__ = name
        return function


def _transfer(name, call):
    data = marshal.dumps(call)
    if len(data) > MAX_ARGUMENTS:
        raise ValueError(f"the arguments of {name} must be less at a time: they are {len(data)} bytes")
    # The fastest compression: the host carries less, and histories repeat themselves.
    arguments = base64.b64encode(zlib.compress(data, 1)).decode()
    try:
        reply = tools.call_submission(name=name, arguments=arguments)
    except ToolError as error:
        raise SubmissionError(str(error), "NoAnswer") from None
    if "raised" in reply:
        kind, message = reply["raised"], reply["message"]
        text = message if kind == "NoAnswer" else f"{name} raised {kind}: {message}"
        raise SubmissionError(text, kind)
    try:
        return decode(reply["value"])
    except PlainDataError as error:
        raise SubmissionError(f"{name} did not answer with plain data: {error}", "PlainDataError") from None


_home = os.getcwd()
