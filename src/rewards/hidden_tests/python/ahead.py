"""
Sends calls of the candidate in batches, as each crossing to the candidate's session costs more than a small call:

- `ahead` makes the calls of a loop before the loop makes them. `paddock_batches` puts calls of it into tests.
- `later` and its kin make calls whose results only an assertion needs. `check` is that assertion, which is judged when
  the batch is full, or before any other request. `paddock_deferral` puts calls of them into tests.

Requests reach the candidate in the order in which the test makes them.
"""

import sys
import types
from collections import deque
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import islice

from paddock_channel import MAX_CHARACTERS, encoded, forget_ahead, hooks, received, refusals, send, send_ahead, send_batch
from paddock_stand_ins import ClassStandIn, StandIn, get, options

MAX_BATCH = 256
GROWTH = 16
"""The first batch is one call, as most wrong programs fail at the first, and each further one is so much larger."""

MAX_BATCH_CHARACTERS = 1024 * 1024
"""Length of the arguments of a batch, in characters, from which the batch is sent."""

failures = []
"""Failures of the running test's assertions and calls. The test fails, even if it catches them."""

_IMMUTABLE = frozenset((int, float, complex, str, bytes, bool, type(None), range, Decimal, Fraction, date, datetime, timedelta))
_COPIED = {list: list, tuple: tuple, set: set, frozenset: frozenset}


class _Unfit(Exception):
    """A value can change until an assertion is judged, or belongs to the candidate."""


class Later:
    """The result of a call, which may not be there yet."""

    __slots__ = ("name", "payload", "value", "is_there")

    def __init__(self, name="", payload="", value=None, is_there=False):
        self.name, self.payload, self.value, self.is_there = name, payload, value, is_there


class _Batch:
    """Requests that are not sent yet, assertions that wait for them, and the number of requests to collect."""

    def __init__(self):
        self.waiting, self.checks = deque(), deque()
        self.characters, self.size, self.is_settling = 0, 1, False


_batch = _Batch()


def begin():
    """Forgets what the test before has left."""
    failures.clear()
    forget_ahead()
    _batch.__init__()


def ahead(items, call_of):
    """Yields items, and requests the calls that the test makes for them, before it makes them."""
    iterator, size, is_plain = iter(items), 1, True
    try:
        while batch := list(islice(iterator, size)):
            if is_plain:
                is_plain = _request([partial(call_of, item) for item in batch])
                size = min(size * GROWTH, MAX_BATCH)
            yield from batch
    finally:
        forget_ahead()


def turns(turns_of, *values):
    """Returns an iterator that is advanced before each turn of a loop. `turns_of(*values)` describes its calls."""
    return ahead(_until_failure(turns_of(*values)) if _are_immutable(values, {}) else (), tuple)


def _until_failure(items):
    try:
        yield from items
    except Exception:
        return  # the loop raises it too


def _request(calls):
    try:
        described = [describe() for describe in calls]
    except Exception:
        return False  # the test raises it too
    sent = [_sent_as(*call) for call in described]
    return None not in sent and send_ahead(sent)


def _sent_as(name, function, args, kwargs):
    """Returns a request and its parts, as the test sends it; None if the call is none of the candidate."""
    if name == "method":
        target, is_candidate = function, _has_methods(*function)
    elif name == "made":
        target, is_candidate = function, _makes_objects(function[0])
    else:
        target = target_of(function)
        is_candidate = target is not None
    return (name, target, args, kwargs) if is_candidate else None


def described_call(name, function, /, *args, **kwargs):
    """Returns the parts of a call, of which the first is the request that makes the call."""
    return name, function, args, kwargs


def target_of(function):
    """Returns what a request calls for a function of the candidate; None for any other function."""
    if isinstance(function, (StandIn, ClassStandIn)):
        return function if callable(function) else None
    return getattr(function, "_paddock_target", None) if type(function) is types.FunctionType else None


def invoke(owner, name, /, *args, **kwargs):
    """Calls a method: of an object of the candidate by one request."""
    if _has_methods(owner, name):
        return send("method", [owner, name], args, kwargs)
    return getattr(owner, name)(*args, **kwargs)


def invoke_made(kind, given, name, /, *args, **kwargs):
    """Makes an object of the arguments `given` and calls its method: if it is of the candidate by one request."""
    if _makes_objects(kind):
        return send("made", [kind, given, name], args, kwargs)
    return invoke(kind(*given), name, *args, **kwargs)


def later(function, /, *args, **kwargs):
    """Calls a function: one of the candidate by a request that may wait."""
    target = target_of(function) if _is_quiet() else None
    if target is None:
        return Later(value=function(*args, **kwargs), is_there=True)
    return _queued("call", target, args, kwargs)


def later_method(owner, name, /, *args, **kwargs):
    """Calls a method, as `later` calls a function."""
    if not _is_quiet() or not _has_methods(owner, name):
        return Later(value=invoke(owner, name, *args, **kwargs), is_there=True)
    return _queued("method", [owner, name], args, kwargs)


def later_made(kind, given, name, /, *args, **kwargs):
    """Makes an object of the arguments `given` and calls its method, as `later` calls a function."""
    if not _is_quiet() or not _makes_objects(kind):
        return Later(value=invoke_made(kind, given, name, *args, **kwargs), is_there=True)
    return _queued("made", [kind, given, name], args, kwargs)


def later_get(owner, name):
    """Reads an attribute, as `later` calls a function."""
    if not _is_quiet() or not _has_methods(owner, name):
        return Later(value=getattr(owner, name), is_there=True)
    return _queued("get_linked" if options["is_linked"] else "get", owner, (name,), {})


def made(function, /, *args, **kwargs):
    """Makes a call."""
    return function(*args, **kwargs)


def discard(in_place, function, /, *args, **kwargs):
    """Makes a call whose result the test does not need. `in_place` calls what may change its arguments."""
    target = target_of(function) if _is_quiet() and _are_immutable(args, kwargs) else None
    if target is None:
        return in_place(function, *args, **kwargs)
    return _queued("call_discarded", target, args, kwargs)


def discard_method(in_place, owner, name, /, *args, **kwargs):
    """Calls a method whose result the test does not need."""
    if not _is_quiet() or not _are_immutable(args, kwargs) or not _has_methods(owner, name):
        return in_place(getattr(owner, name), *args, **kwargs)
    return _queued("method_discarded", [owner, name], args, kwargs)


def check(is_truth, judge, /, *parts):
    """
    Judges an assertion, when the results that are among its parts are there. `judge` returns its truth, or raises, if
    `is_truth` is false.
    """
    try:
        kept = [_kept(part) for part in parts] if _batch.waiting else parts
    except _Unfit:
        settle()
        kept = parts
    if _batch.waiting:
        _batch.checks.append((is_truth, judge, kept))
    else:
        _judge(is_truth, judge, kept)


def settle():
    """Sends the requests that wait, and judges the assertions that wait for them. Raises what the first failure raises."""
    if _batch.is_settling or not _batch.waiting:
        return
    _batch.is_settling = True
    try:
        while _batch.waiting:
            _send_waiting()
    except BaseException as error:
        _batch.waiting.clear()
        _batch.checks.clear()
        if not refusals:
            failures.append(error)
        raise
    finally:
        _batch.is_settling = False
        _batch.characters = 0


def _send_waiting():
    """Sends waiting requests until one whose result is no plain data, of which an assertion may request more."""
    waiting, checks = _batch.waiting, _batch.checks
    begun = sum(type(part) is Later and not part.is_there for part in checks[0][2]) if checks else 0
    is_begun = begun > 0 and any(type(part) is Later and part.is_there for part in checks[0][2])
    batch = list(islice(waiting, begun if is_begun else _batch.size))
    outcomes = send_batch([(part.name, part.payload) for part in batch])
    is_whole = len(outcomes) == len(batch)
    _batch.size = min(_batch.size * GROWTH, MAX_BATCH) if is_whole else max(1, len(outcomes))
    for outcome in outcomes:
        part = waiting.popleft()
        part.value, part.is_there = received(outcome, sys.__stdout__, sys.__stderr__), True
        while checks and all(type(one) is not Later or one.is_there for one in checks[0][2]):
            _judge(*checks.popleft())


def _judge(is_truth, judge, parts):
    truth = judge(*[part.value if type(part) is Later else part for part in parts])
    if is_truth and not truth:
        raise AssertionError


def _queued(name, target, args, kwargs):
    payload = encoded([target, args, kwargs])
    request = Later(name, payload)
    if _batch.characters + len(payload) > MAX_CHARACTERS:
        settle()
    _batch.waiting.append(request)
    _batch.characters += len(payload)
    if len(_batch.waiting) >= _batch.size or _batch.characters > MAX_BATCH_CHARACTERS:
        settle()
    return request


def _is_quiet():
    """Returns whether the candidate has the test's own streams, and nothing of the test is being judged."""
    is_own = sys.stdout is sys.__stdout__ and sys.stderr is sys.__stderr__ and sys.stdin is sys.__stdin__
    return is_own and not _batch.is_settling


def _has_methods(owner, name):
    """Returns whether an attribute of an object is one in the candidate's session."""
    if isinstance(owner, ClassStandIn):
        return not hasattr(ClassStandIn, name) and "_paddock_class" in vars(owner) and name[:1] != "_"
    return isinstance(owner, StandIn) and name[:1] != "_"


def _makes_objects(kind):
    return isinstance(kind, ClassStandIn) and issubclass(kind, StandIn) and kind._paddock_base is None


def _are_immutable(args, kwargs):
    return all(type(value) in _IMMUTABLE for value in (*args, *kwargs.values()))


def _kept(value):
    """Returns a value that cannot change: itself, or a copy. Raises _Unfit if there is none."""
    kind = type(value)
    if kind in _IMMUTABLE:
        return value
    if kind in _COPIED:
        return _COPIED[kind](map(_kept, value))
    if kind is dict:
        return {_kept(key): _kept(item) for key, item in value.items()}
    if kind is Later:
        return _kept(value.value) if value.is_there else value
    if kind is type and value.__module__ == "builtins":
        return value
    if kind is types.MethodType and value.__func__.__module__ == "unittest.case":
        return value
    raise _Unfit


hooks["settle"] = settle

IN_TESTS = {
    "__ahead__": ahead,
    "__call__": described_call,
    "__check__": check,
    "__discard__": discard,
    "__discard_method__": discard_method,
    "__invoke__": invoke,
    "__invoke_made__": invoke_made,
    "__later__": later,
    "__later_get__": later_get,
    "__later_made__": later_made,
    "__later_method__": later_method,
    "__made__": made,
    "__turns__": turns,
}
"""Names by which changed tests reach these functions."""
