"""Requests of the tests to the candidate's session, and the lines of the tests that make them."""

import io
import sys
from collections import deque

from paddock import ToolError, tools
from paddock_plain_data import MAX_DEPTH, PlainDataError, TooDeepError, decode, encode

MAX_CHARACTERS = 15 * 1024 * 1024
"""Maximum length of the arguments or of the result of a call, in characters of JSON."""

refusals = []
"""Reasons why the running test has no verdict or fails, even if it ignores them."""

hooks = {}
"""Set by the module that defines stand-ins: how to encode a value, and how to make an exception."""

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


class ExpectedTooLong(Exception):
    """A test expects a value that is too long to be transferred."""


class ForeignName(Exception):
    """A test uses a name that it must define itself, and that only the program defines."""


class Ended(Exception):
    """An iterator of the candidate has ended, with a result."""

    def __init__(self, result):
        super().__init__()
        self.result = result


class TooLong:
    """A result that is too long to be transferred. It differs from each value that is not as long."""

    __hash__ = None

    def __eq__(self, other):
        if _length(other) > MAX_CHARACTERS:
            refusals.append(ExpectedTooLong(f"{_line()}the expected value has more than {MAX_CHARACTERS} characters"))
        return False

    def __getattr__(self, name):
        raise CandidateError(f"the candidate returned more than {MAX_CHARACTERS} characters")


def _length(value):
    if isinstance(value, (str, bytes, bytearray)):
        return len(value)
    try:
        return len(encode(value, 2 * MAX_DEPTH, hooks["refer"]))
    except PlainDataError:
        return 0


def request(name, target, *args, **kwargs):
    """Returns the result of an operation in the candidate's session, or raises its exception."""
    return send(name, target, args, kwargs)


def send(name, target, args, kwargs):
    stdin = _input()
    payload = _encoded([target, args, kwargs])
    if _ahead and (name, payload) == _ahead[0][:2]:
        return _received(_ahead.popleft()[2], stdin)
    _ahead.clear()
    return _received(_decoded(_sent(name, payload, stdin)), stdin)


def send_ahead(calls):
    """
    Makes calls that the test needs next, in this order: the request, its target and its arguments. Returns whether all
    of them returned plain data, so that no request can come between two of them.
    """
    if _input() is not None:
        return False
    try:
        payloads = [encode([*call], 2 * MAX_DEPTH, hooks["refer"]) for _, *call in calls]
    except PlainDataError:
        return False  # the call itself reports the argument
    _ahead.clear()
    requests = [f'["{name}", {payload}]' for (name, *_), payload in zip(calls, payloads)]
    outcomes = _decoded(_sent("calls", f"[{', '.join(requests)}]", None))
    if type(outcomes) is not list:
        raise CandidateError("the candidate's reply is not a list of replies")
    _ahead.extend((name, payload, outcome) for (name, *_), payload, outcome in zip(calls, payloads, outcomes))
    return len(outcomes) == len(payloads)


def forget_ahead():
    """Drops the results of calls that the test does not need."""
    _ahead.clear()


def _sent(name, payload, stdin):
    """Sends a request. Returns the candidate's reply as data."""
    if len(payload) > MAX_CHARACTERS:
        refusals.append(TooLarge(f"{_line()}the arguments of a call have more than {MAX_CHARACTERS} characters"))
        raise refusals[-1]
    given = {} if stdin is None else {"stdin": stdin}
    try:
        reply = tools.call_candidate(name=name, arguments=payload, **given)
    except ToolError as error:
        refusals.append(TooManyCalls(f"{_line()}{error}"))
        raise refusals[-1] from None
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
    return ["returned", TooLong(), *outcome[2:]] if is_too_long else outcome


def _received(outcome, stdin):
    """Returns the result of an outcome or raises its exception. Prints what the candidate has printed."""
    how, result, output, errors, read = _parts(outcome)
    _write(sys.stdout, output)
    _write(sys.stderr, errors)
    if stdin is not None:
        _skip(stdin, read)
    if how == "returned":
        return result
    if how == "ended":
        raise Ended(result)
    raise hooks["exception"](*_exception_parts(result))


def not_judged(reason):
    """Returns an exception. The test has no verdict, even if it catches the exception."""
    error = Unjudged(f"{_line()}{reason}")
    refusals.append(error)
    return error


def foreign_name(name):
    """Returns an exception. The test fails, even if it catches the exception."""
    refusals.append(ForeignName(f"{_line()}the tests do not define {name!r}"))
    return refusals[-1]


def is_data(value):
    """Returns whether a value can be sent to the candidate."""
    try:
        encode(value, MAX_DEPTH, hooks["refer"])
    except PlainDataError:
        return False
    return True


def _encoded(payload):
    try:
        return encode(payload, 2 * MAX_DEPTH, hooks["refer"])
    except TooDeepError as error:
        refusals.append(TooLarge(f"{_line()}{error}"))
    except PlainDataError as error:
        refusals.append(Unjudged(f"{_line()}{error}"))
    raise refusals[-1] from None


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
    if not is_reply or reply[0] not in ("returned", "ended", "raised") or reply[4] < 0:
        raise CandidateError("the candidate's reply is not a reply")
    return reply


def _exception_parts(result):
    if type(result) is not list or len(result) != 4 or list(map(type, result[:3])) != [str] * 3:
        raise CandidateError("the candidate's exception is not an exception")
    return result
