"""
Stand-ins for the candidate's objects in the tests. What a test does with a stand-in is a request to the
candidate's session. Data comes back, and the test compares it here.
"""

import asyncio
import math
import os
import random

from paddock_channel import CandidateError, Ended, foreign_name, is_data, not_judged, request, send
from paddock_decoys import decoys_of

options = {"is_linked": True}

_random = random.Random(os.urandom(16))

class ClassStandIn(type):
    """The class of stand-ins for classes."""

    def __call__(cls, *args, **kwargs):
        return send("call", cls, args, kwargs)

    def __getattr__(cls, name):
        return get(cls, name)

    def __setattr__(cls, name, value):
        request("set", cls, name, value)

    def __delattr__(cls, name):
        request("del", cls, name)

    def __iter__(cls):
        return iter(request("iter", cls))

    def __reversed__(cls):
        return iter(request("reversed", cls))

    def __len__(cls):
        return request("len", cls)

    def __bool__(cls):
        return True

    def __contains__(cls, item):
        return request("contains", cls, item)

    def __getitem__(cls, key):
        return request("item", cls, key)

    def __or__(cls, other):
        return type.__or__(cls, other)


class StandIn(metaclass=ClassStandIn):
    """An object of the candidate."""

    __slots__ = ("_paddock_number",)
    _paddock_known = False

    def __getattr__(self, name):
        return get(self, name)

    def __setattr__(self, name, value):
        request("set", self, name, value)

    def __delattr__(self, name):
        request("del", self, name)

    def __dir__(self):
        return request("dir", self)

    @property
    def __dict__(self):
        return get(self, "__dict__")

    def __eq__(self, other):
        if isinstance(other, (StandIn, ClassStandIn)):
            return request("equal", self, other)
        known, base = type(self)._paddock_known, type(self)._paddock_base
        if base is not None:
            return request("data", self) == other
        return _equals_data(self, other) if known and is_data(other) else NotImplemented

    def __ne__(self, other):
        result = self.__eq__(other)
        return result if result is NotImplemented else not result

    def __hash__(self):
        return request("hash", self)

    def __bool__(self):
        return request("bool", self)

    def __str__(self):
        return request("str", self)

    def __repr__(self):
        return request("repr", self)

    def __format__(self, spec):
        return request("format", self, spec)

    def __copy__(self):
        return request("copy", self)

    def __deepcopy__(self, memo):
        return request("deepcopy", self)

    def __reduce_ex__(self, protocol):
        if type(self)._paddock_known:
            raise not_judged("an instance of the candidate's class cannot be pickled in the tests")
        raise TypeError("cannot pickle an object of the candidate")

    def __lt__(self, other):
        return _compares(self, other, "lt")

    def __le__(self, other):
        return _compares(self, other, "le")

    def __gt__(self, other):
        return _compares(self, other, "gt")

    def __ge__(self, other):
        return _compares(self, other, "ge")


class Foreign:
    """
    A name that the tests must define themselves, and do not. The tests do not use what the program defines under this
    name: they fail. If the program does not define it either, the tests cannot be judged.
    """

    __hash__ = None

    def __init__(self, name, is_of_program):
        object.__setattr__(self, "_paddock_refusal", (name, is_of_program))

    def _refuse(self, *args, **kwargs):
        name, is_of_program = object.__getattribute__(self, "_paddock_refusal")
        if is_of_program:
            raise foreign_name(name)
        raise not_judged(f"the tests do not define {name!r}, and no session has it")

    __getattr__ = __call__ = __eq__ = __ne__ = __bool__ = __iter__ = __len__ = __getitem__ = __contains__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse


def _equals_data(stand_in, other):
    """
    Compares an instance with data by its own `__eq__`. The candidate is asked about other data too, in random
    order, and does not know which of it the test compares with. It must deny the rest.
    """
    values = [(True, other), *((False, decoy) for decoy in decoys_of(other, _random))]
    _random.shuffle(values)
    answers = request("equal_each", stand_in, [value for _, value in values])
    return answers == [is_real for is_real, _ in values]


def _compares(left, right, name):
    if isinstance(right, StandIn):
        return request(name, left, right) is True
    if not type(left)._paddock_known or not is_data(right):
        return NotImplemented
    answers = request("order", left, right)
    less, at_most, more, at_least = answers
    is_contradictory = (less and more) or (less and at_least) or (more and at_most)
    if is_contradictory or (at_most and at_least and not _equals_data(left, right)):
        raise CandidateError("the comparisons of the instance contradict each other")
    answer = dict(zip(("lt", "le", "gt", "ge"), answers))[name]
    return NotImplemented if answer is None else answer is True


def get(target, name):
    """Returns an attribute of a stand-in."""
    if name in ("_paddock_number", "_paddock_base"):
        raise AttributeError(name)
    return request("get_linked" if options["is_linked"] else "get", target, name)


def _binary(name):
    def calculate(self, other):
        return _calculated(self, other, lambda value: (name, self, value))

    return calculate


def _reflected(name):
    def calculate(self, other):
        return _calculated(self, other, lambda value: (name, value, self))

    return calculate


def _calculated(stand_in, other, operation):
    """
    Carries out an operator. With data of the tests, only a class that the tests name has operators. If the result is
    a number, it must depend on the data: the candidate is asked about other numbers too, in random order.
    """
    if isinstance(other, (StandIn, ClassStandIn)):
        return request(*operation(other))
    if not type(stand_in)._paddock_known or not is_data(other):
        return NotImplemented
    result = request(*operation(other))
    if not _is_number(result) or not _is_number(other):
        return result
    others = [other, *decoys_of(other, _random)]
    _random.shuffle(others)
    results = [request(*operation(value)) for value in others]
    slopes = {"add": (1,), "iadd": (1,), "sub": (1, -1), "isub": (1, -1)}.get(operation(other)[0])
    if not all(map(_is_number, results)) or results[others.index(other)] != result or len({*results}) == 1:
        raise CandidateError("the result of the operator does not depend on the number")
    if slopes and not any(_is_linear(others, results, slope) for slope in slopes):
        raise CandidateError("the operator is neither a sum nor a difference")
    return result


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_linear(others, results, slope):
    first = results[0] - slope * others[0]
    return all(math.isclose(result - slope * other, first, rel_tol=1e-6, abs_tol=1e-6) for other, result in zip(others, results))


def _contains(self, item):
    """True if the candidate's object contains an item of the tests, and does not contain everything."""
    if not type(self)._paddock_known:
        return any(found is item or found == item for found in self)
    return request("contains", self, item) is True and not request("holds", self, f"{_random.getrandbits(64):x}")


_BINARY = "add sub mul matmul truediv floordiv mod lshift rshift and or xor pow".split()
_OPERATORS = {"and": "and_", "or": "or_"}
for _name in _BINARY:
    _operator = _OPERATORS.get(_name, _name)
    type.__setattr__(StandIn, f"__{_name}__", _binary(_operator))
    type.__setattr__(StandIn, f"__r{_name}__", _reflected(_operator))
    type.__setattr__(StandIn, f"__i{_name}__", _binary(f"i{_name}"))
type.__setattr__(StandIn, "__divmod__", _binary("divmod"))
type.__setattr__(StandIn, "__rdivmod__", _reflected("divmod"))


def _unary(name):
    return lambda self, *args: request(name, self, *args)


def _special(name):
    return lambda self, *args: request("special", self, name, *args)


def _iterated(self):
    found = request("iter", self)
    return found if hasattr(type(found), "__next__") else iter(found)


def _next_item(self):
    try:
        return request("next", self)
    except Ended:
        raise StopIteration from None


async def awaited(target):
    """Runs an awaitable in the candidate's session, while other awaitables of the test run too."""
    try:
        while not request("poll", target):
            await asyncio.sleep(0)
        return request("finish", target)
    except asyncio.CancelledError:
        request("cancel", target)
        raise


async def _next_awaited(self):
    try:
        return await request("special", self, "__anext__")
    except Ended:
        raise StopAsyncIteration from None


def _exit(self, kind, error, trace):
    """Leaves a context. The candidate cannot suppress a failed assertion of the test."""
    result = request("special", self, "__exit__", kind, error, None)
    return bool(result) and not isinstance(error, AssertionError)


async def _exit_awaited(self, kind, error, trace):
    result = await request("special", self, "__aexit__", kind, error, None)
    return bool(result) and not isinstance(error, AssertionError)


SPECIAL = {
    **{f"__{name}__": _unary(name) for name in "len reversed int float complex round bytes".split()},
    **{f"__{name}__": _unary(name) for name in "index abs neg pos invert setitem delitem".split()},
    **{f"__{name}__": _special(f"__{name}__") for name in "enter aenter aiter trunc floor ceil".split()},
    "__contains__": _contains,
    "__exit__": _exit,
    "__aexit__": _exit_awaited,
    "__getitem__": _unary("item"),
    "__iter__": _iterated,
    "__next__": _next_item,
    "__anext__": _next_awaited,
    "__call__": lambda self, *args, **kwargs: send("call", self, args, kwargs),
    "__await__": lambda self: awaited(self).__await__(),
}
"""Special methods that a stand-in has if the candidate's class has them."""

OF_VALUES = {
    **{name: SPECIAL[name] for name in ("__call__", "__abs__", "__neg__", "__pos__", "__invert__", "__round__")},
    **{name: vars(StandIn)[name] for name in ("__str__", "__repr__", "__format__", "__divmod__", "__rdivmod__")},
    **{f"__{side}{name}__": vars(StandIn)[f"__{side}{name}__"] for name in _BINARY for side in ("", "r")},
}
"""Special methods that a value's class may override. Comparisons are never among them."""
