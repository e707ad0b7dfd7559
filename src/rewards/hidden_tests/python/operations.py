"""Operations on the candidate's objects that the tests can request."""

import asyncio
import copy
import dataclasses
import operator
import random


class End(Exception):
    """An iterator has ended, with a result."""

    def __init__(self, result):
        super().__init__()
        self.result = result


class AsyncEnd(End):
    """An asynchronous iterator has ended."""


POLL_SECONDS = 0.01

_loops = []
_tasks = {}
_errors = {}
"""Exceptions that ended a chunk, by their iterator. The next chunk raises them."""


def operation(name):
    """Returns an operation on a target and further arguments."""
    found = _OPERATIONS.get(name)
    return getattr(operator, name) if found is None else found


def _next(iterator):
    try:
        return next(iterator)
    except StopIteration as stop:
        raise End(stop.value) from None


def _advance(generator, name, *args):
    """Calls `send` or `throw` of a generator."""
    try:
        return getattr(generator, name)(*args)
    except StopIteration as stop:
        raise End(stop.value) from None


def _chunk(iterator, count):
    """Returns up to `count` items and whether the iterator has ended, with its result."""
    if id(iterator) in _errors:
        raise _errors.pop(id(iterator))
    items = []
    for _ in range(count):
        try:
            items.append(next(iterator))
        except StopIteration as stop:
            return [items, True, stop.value]
        except Exception as error:
            if not items:
                raise
            _errors[id(iterator)] = error
            break
    return [items, False, None]


def _equal(left, right):
    """Compares two objects. An `__eq__` that also holds for an object without any equal part is not believed."""
    if not left == right:
        return False
    return left is right or not _equals_blank(left, right)


def _equals_blank(left, right):
    """Compares with a copy of an object whose attributes are all different from anything else."""
    kind = type(right)
    slots = [name for base in kind.__mro__ for name in getattr(base, "__slots__", ())]
    names = [name for name in [*getattr(right, "__dict__", ()), *slots] if name != "__weakref__"]
    if not names:
        return False
    try:
        blank = object.__new__(kind)
        for name in names:
            object.__setattr__(blank, name, object())
        return bool(left == blank)
    except Exception:
        return False  # the comparison looks at the attributes


def _equal_each(target, others):
    return [bool(target == other) for other in others]


def _holds(target, item):
    try:
        return item in target
    except Exception:
        return False  # items of this kind are never in it


def _order(target, other):
    """Returns the answers of `<`, `<=`, `>` and `>=`; None for those that raise."""
    return [_answer(compare, target, other) for compare in (operator.lt, operator.le, operator.gt, operator.ge)]


def _answer(compare, left, right):
    try:
        return bool(compare(left, right))
    except TypeError:
        return None


def _poll(awaitable):
    """Starts an awaitable, or lets it run for a moment. Returns True if it is done."""
    loop = _loop()
    task = _tasks.get(id(awaitable))
    if task is None:
        task = _tasks[id(awaitable)] = loop.create_task(_awaited(awaitable))
        loop.run_until_complete(asyncio.sleep(0))
    else:
        loop.run_until_complete(asyncio.wait([task], timeout=POLL_SECONDS))
    return task.done()


def _finish(awaitable):
    """Returns the result of an awaitable that is done."""
    try:
        return _tasks[id(awaitable)].result()
    except StopAsyncIteration:
        raise End(None) from None


async def _awaited(awaitable):
    return await awaitable


def _cancel(awaitable):
    task = _tasks.get(id(awaitable))
    if task is not None:
        task.cancel()
        _loop().run_until_complete(asyncio.sleep(0))


def _loop():
    if not _loops:
        _loops.append(asyncio.new_event_loop())
    return _loops[0]


def _special(target, name, *args):
    """Calls a special method as the interpreter does: of the class, not of the instance."""
    return getattr(type(target), name)(target, *args)


def _replace(target, values):
    """Replaces what a container holds."""
    target.clear()
    (target.extend if hasattr(target, "extend") else target.update)(values)


_OPERATIONS = {
    "get": getattr,
    "get_linked": getattr,
    "has": hasattr,
    "item": operator.getitem,
    "set": setattr,
    "del": delattr,
    "next": _next,
    "chunk": _chunk,
    "advance": _advance,
    "close": lambda generator: generator.close(),
    "equal": _equal,
    "equal_each": _equal_each,
    "holds": _holds,
    "order": _order,
    "poll": _poll,
    "finish": _finish,
    "cancel": _cancel,
    "special": _special,
    "replace": _replace,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "seed": random.seed,
    "dataclass_asdict": dataclasses.asdict,
    "dataclass_astuple": dataclasses.astuple,
    "dataclass_fields": dataclasses.fields,
    "dataclass_is_dataclass": dataclasses.is_dataclass,
    "dataclass_replace": dataclasses.replace,
    "divmod": divmod,
    "bool": bool,
    "str": str,
    "repr": repr,
    "hash": hash,
    "len": len,
    "iter": iter,
    "reversed": reversed,
    "int": int,
    "float": float,
    "complex": complex,
    "round": round,
    "format": format,
    "bytes": bytes,
    "dir": dir,
}
