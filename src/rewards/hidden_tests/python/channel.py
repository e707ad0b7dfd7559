"""Requests of the tests to the candidate's session, and the lines of the tests that make them."""

import io
import sys
from collections import deque

from paddock import ToolError, tools
from paddock_plain_data import MAX_DEPTH, PlainDataError, TooDeepError, decode, encode

MAX_CHARACTERS = 15 * 1024 * 1024
"""Maximum length of the arguments or of the result of a call, in characters of JSON."""

MAX_PAYLOAD_DEPTH = MAX_DEPTH + 2
"""Maximum depth of the arguments of a request: they are in a sequence of a list."""

refusals = []
"""Reasons why the running test has no verdict or fails, even if it ignores them."""

hooks = {"settle": lambda: None}
"""
Set by other modules: how to encode a value, how to make an exception, and `settle`, which sends the requests that wait,
before any other request and before a reason is added to `refusals`.
"""

_ahead = deque()
"""Calls that were made ahead of the test: the arguments and the outcome of each."""


class CandidateError(Exception):
    """The candidate raised an exception without a built-in class, or its reply is not data."""


class Unjudged(Exception):
    """A test requires something that cannot be judged."""


class TooManyCalls(Exception):
    """A test makes more calls than the profile of its session allows."""


class TooLarge(Exception):
    """The arguments of a call are too long or nested too deep."""


class ExpectedTooBig(Exception):
    """A test expects a value that is too long, or nested too deep, to be transferred."""


class ForeignName(Exception):
    """A test uses a name that it must define itself, and that only the program defines."""


class Ended(Exception):
    """An iterator of the candidate has ended, with a result."""

    def __init__(self, result):
        super().__init__()
        self.result = result


class TooBig:
    """A result that is too long, or nested too deep, to be transferred. It differs from each value that is not so big."""

    __hash__ = None

    def __init__(self, excess):
        self._excess = excess

    def __eq__(self, other):
        if _excess_of(other) == self._excess:
            _refused(ExpectedTooBig(f"{_line()}the expected value {self._excess}"))
        return False

    def __bool__(self):
        raise self.error()

    def __getattr__(self, name):
        raise self.error()

    def error(self):
        return CandidateError(f"what the candidate returned {self._excess}")


TOO_LONG = f"has more than {MAX_CHARACTERS} characters"
TOO_DEEP = f"is nested more than {MAX_DEPTH} deep"


def _excess_of(value):
    """Returns what is too big about a value of the tests."""
    if isinstance(value, (str, bytes, bytearray)):
        return TOO_LONG if len(value) > MAX_CHARACTERS else ""
    try:
        return TOO_LONG if len(encode(value, MAX_DEPTH, hooks["refer"])) > MAX_CHARACTERS else ""
    except TooDeepError:
        return TOO_DEEP
    except PlainDataError:
        return ""


def request(name, target, *args, **kwargs):
    """Returns the result of an operation in the candidate's session, or raises its exception."""
    return send(name, target, args, kwargs)


def send(name, target, args, kwargs):
    """Returns the result of a request. Its parts are those of `request`."""
    hooks["settle"]()
    stdin = _input()
    payload = encoded([target, args, kwargs])
    if _ahead and (name, payload) == _ahead[0][:2]:
        outcome = _ahead.popleft()[2]
    else:
        _ahead.clear()
        outcome = _decoded(_sent(name, payload, stdin))
    return received(outcome, sys.stdout, sys.stderr, stdin)


def send_ahead(calls):
    """
    Makes calls that the test needs next, in this order: the request, its target and its arguments. Returns whether all
    of them returned plain data, so that no request can come between two of them.
    """
    hooks["settle"]()
    if _input() is not None:
        return False
    try:
        payloads = [encode([*call], MAX_PAYLOAD_DEPTH, hooks["refer"]) for _, *call in calls]
    except PlainDataError:
        return False  # the call itself reports the argument
    _ahead.clear()
    names = [name for name, *_ in calls]
    outcomes = send_batch([*zip(names, payloads)])
    _ahead.extend(zip(names, payloads, outcomes))
    return len(outcomes) == len(payloads)


def send_batch(requests):
    """Makes requests, of names and arguments, up to one that returns no plain data. Returns the outcomes of at least one."""
    joined = ", ".join(f'["{name}", {payload}]' for name, payload in requests)
    outcomes, is_too_long = _sent("calls", f"[{joined}]", None, len(requests))
    if is_too_long:
        return [_decoded((outcomes, True))]
    outcomes = _decoded((outcomes, False))
    if type(outcomes) is not list or not 0 < len(outcomes) <= len(requests):
        raise CandidateError("the candidate's reply is not a list of replies")
    return outcomes


def forget_ahead():
    """Drops the results of calls that the test does not need."""
    _ahead.clear()


def _sent(name, payload, stdin, count=1):
    """Sends a request, or so many of them. Returns the candidate's reply as data."""
    if len(payload) > MAX_CHARACTERS:
        raise _refused(TooLarge(f"{_line()}the arguments of a call have more than {MAX_CHARACTERS} characters"))
    given = {} if stdin is None else {"stdin": stdin}
    try:
        reply = tools.call_candidate(name=name, arguments=payload, count=count, **given)
    except ToolError as error:
        raise _refused(TooManyCalls(f"{_line()}{error}")) from None
    if "raised" in reply:
        raise hooks["exception"](reply["raised"], reply["base"], reply["message"])
    if "tooLong" in reply:
        return ["list", "returned", None, "", "", ["int", "0x0"]], True
    return reply["value"], False


def _decoded(sent):
    """Returns the outcome of a request. Its data may be anything, as it is the candidate's."""
    data, is_too_long = sent
    try:
        outcome = decode(data)
    except PlainDataError as error:
        raise CandidateError(str(error)) from None
    return ["returned", TooBig(TOO_LONG), *outcome[2:]] if is_too_long else outcome


def received(outcome, stdout, stderr, stdin=None):
    """Returns the result of an outcome or raises its exception. Prints what the candidate has printed."""
    how, result, output, errors, read = _parts(outcome)
    _write(stdout, output)
    _write(stderr, errors)
    if stdin is not None:
        _skip(stdin, read)
    if how == "returned":
        return result
    if how == "too deep":
        return TooBig(TOO_DEEP)
    if how == "ended":
        raise Ended(result)
    raise hooks["exception"](*_exception_parts(result))


def not_judged(reason):
    """Returns an exception. The test has no verdict, even if it catches the exception."""
    return _refused(Unjudged(f"{_line()}{reason}"))


def foreign_name(name):
    """Returns an exception. The test fails, even if it catches the exception."""
    return _refused(ForeignName(f"{_line()}the tests do not define {name!r}"))


def _refused(error):
    """Returns an exception, which the test cannot catch without an effect on its verdict."""
    hooks["settle"]()
    refusals.append(error)
    return error


def is_data(value):
    """Returns whether a value can be sent to the candidate."""
    try:
        encode(value, MAX_DEPTH, hooks["refer"])
    except PlainDataError:
        return False
    return True


def encoded(payload):
    """Returns the arguments of a request as JSON."""
    try:
        return encode(payload, MAX_PAYLOAD_DEPTH, hooks["refer"])
    except TooDeepError as error:
        reason = TooLarge(f"{_line()}{error}")
    except PlainDataError as error:
        reason = Unjudged(f"{_line()}{error}")
    raise _refused(reason) from None


def _line():
    """Names the line of the test that makes a request."""
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_filename not in ("<test>", "<setup>"):
        frame = frame.f_back
    return "" if frame is None else f"line {frame.f_lineno} of {frame.f_code.co_filename[1:-1]}: "


def _input():
    """Returns the text that the candidate may read, if the test replaces the standard input. The test's stays as it is."""
    stdin = sys.stdin
    if stdin is sys.__stdin__ or not isinstance(stdin, (io.StringIO, io.TextIOWrapper)):
        return None
    position = stdin.tell()
    text = stdin.read()
    stdin.seek(position)
    return text


def _skip(text, read):
    """Moves the test's standard input past what the candidate has read of its text."""
    sys.stdin.read(min(read, len(text)))


def _write(stream, text):
    if text:
        stream.write(text)


def _parts(reply):
    is_reply = type(reply) is list and list(map(type, reply[:1] + reply[2:])) == [str, str, str, int]
    if not is_reply or reply[0] not in ("returned", "too deep", "ended", "raised") or reply[4] < 0:
        raise CandidateError("the candidate's reply is not a reply")
    return reply


def _exception_parts(result):
    if type(result) is not list or len(result) != 4 or list(map(type, result[:3])) != [str] * 3:
        raise CandidateError("the candidate's exception is not an exception")
    return result
