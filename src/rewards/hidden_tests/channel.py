"""Requests of the tests to the candidate's session, and the lines of the tests that make them."""

import io
import sys

from paddock import ToolError, tools
from paddock_plain_data import MAX_DEPTH, PlainDataError, decode, encode

refusals = []
"""Reasons why the running test has no verdict or fails, even if it ignores them."""

hooks = {}
"""Set by the module that defines stand-ins: how to encode a value, and how to make an exception."""

_stdin = sys.stdin


class CandidateError(Exception):
    """The candidate raised an exception without a built-in class, or its reply is not data."""


class NotJudgedError(Exception):
    """A test requires something that cannot be judged."""


class Ended(Exception):
    """An iterator of the candidate has ended, with a result."""

    def __init__(self, result):
        super().__init__()
        self.result = result


def request(name, target, *args, **kwargs):
    """Returns the result of an operation in the candidate's session, or raises its exception."""
    return send(name, target, args, kwargs)


def send(name, target, args, kwargs):
    stdin, position = _input()
    arguments = _encoded([target, args, kwargs, stdin])
    try:
        reply = tools.call_candidate(name=name, arguments=arguments)
    except ToolError as error:
        refusals.append(error)
        raise
    if "raised" in reply:
        raise hooks["exception"](reply["raised"], reply["base"], reply["message"])
    try:
        how, result, output, errors, read = _parts(decode(reply["value"]))
    except PlainDataError as error:
        raise CandidateError(str(error)) from None
    _write(sys.stdout, output)
    _write(sys.stderr, errors)
    if stdin is not None:
        sys.stdin.seek(position + min(read, len(stdin)))
    if how == "returned":
        return result
    if how == "ended":
        raise Ended(result)
    raise hooks["exception"](*_exception_parts(result))


def not_judged(reason):
    """Returns an exception. The test has no verdict, even if it catches the exception."""
    error = NotJudgedError(f"{_line()}{reason}")
    refusals.append(error)
    return error


def _encoded(payload):
    try:
        return encode(payload, 2 * MAX_DEPTH, hooks["refer"])
    except PlainDataError as error:
        refusals.append(type(error)(f"{_line()}{error}"))
        raise refusals[-1] from None


def _line():
    """Names the line of the test that makes a request."""
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_filename not in ("<test>", "<setup>"):
        frame = frame.f_back
    return "" if frame is None else f"line {frame.f_lineno} of {frame.f_code.co_filename[1:-1]}: "


def _input():
    """Returns the text that the candidate may read, if the test replaces the standard input, and its position."""
    stdin = sys.stdin
    if stdin is _stdin or not isinstance(stdin, io.StringIO):
        return None, 0
    position = stdin.tell()
    return stdin.read(), position


def _write(stream, text):
    if text:
        stream.write(text)


def _parts(reply):
    is_reply = type(reply) is list and list(map(type, reply[:1] + reply[2:])) == [str, str, str, int]
    if not is_reply or reply[0] not in ("returned", "ended", "raised") or reply[4] < 0:
        raise PlainDataError("the candidate's reply is not a reply")
    return reply


def _exception_parts(result):
    if type(result) is not list or len(result) != 4 or list(map(type, result[:3])) != [str] * 3:
        raise CandidateError("the candidate's exception is not an exception")
    return result
