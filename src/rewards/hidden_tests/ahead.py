"""
Requests calls of the candidate before the tests make them, in batches, as each crossing to the candidate's session costs
more than a small call. `paddock_batches` puts calls of these functions into tests.
"""

from functools import partial
from itertools import islice

from paddock_channel import forget_ahead, send_ahead
from paddock_stand_ins import ClassStandIn, StandIn

MAX_BATCH = 256
GROWTH = 4
"""The first batch is one call, as most wrong programs fail at the first, and each further one is so much larger."""

_stopped = []
"""The place in a block from which calls are not requested ahead, as one before returned no plain data."""


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


def plan(calls, place):
    """Requests the calls of the next statements. `place` is the number of statements of the block before them."""
    if place == 0:
        _stopped.clear()
    if not _stopped and not _request(calls):
        _stopped.append(place)


def _request(calls):
    try:
        described = [describe() for describe in calls]
    except Exception:
        return False  # the test raises it too
    targets = [_target_of(function) for _, function, _, _ in described]
    if any(target is None for target in targets):
        return False
    return send_ahead([(name, target, args, kwargs) for target, (name, _, args, kwargs) in zip(targets, described)])


def _target_of(function):
    if isinstance(function, (StandIn, ClassStandIn)):
        return function
    return getattr(function, "_paddock_target", None)


def described_call(name, function, /, *args, **kwargs):
    """Returns the parts of a call, of which the first is the request that makes the call."""
    return name, function, args, kwargs
