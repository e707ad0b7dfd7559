"""Fixtures: values that tests request by argument name, set up on demand and torn down afterwards."""

import contextlib
import inspect


class Fixture:
    """Function that provides the value of a test argument."""

    def __init__(self, function, scope="function", params=None, autouse=False, name=None, ids=None):
        self.function, self.scope, self.params, self.autouse = function, scope, params, autouse
        self.name, self.ids = name or function.__name__, ids

    def __set_name__(self, owner, name):
        self.owner = owner

    def __call__(self, *_):
        raise Failed(f'Fixture "{self.name}" called directly')

    def needs(self):
        needed = required(self.function)
        return needed[1:] if hasattr(self, "owner") else needed


def fixture(function=None, **options):
    if function is None:
        return lambda function: Fixture(function, **options)
    return Fixture(function, **options)


def required(function):
    parameters = inspect.signature(function).parameters.values()
    plain = [each for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    return [each.name for each in plain if each.default is each.empty]


class Request:
    """`request`: information about the requesting test."""

    def __init__(self, setup, closing, param=None):
        self.param, self.cls, self.module, self.function = param, setup.owner, setup.module, setup.function
        self.node = setup
        self.instance = setup.instance
        self.getfixturevalue = setup.value
        self.addfinalizer = closing.callback


class Setup:
    """Fixture values of one test. Function-scoped ones are torn down at its end, the others with `kept`."""

    def __init__(self, fixtures, kept, *, name, module, function, owner=None, instance=None, params=None):
        self.fixtures, self.kept, self.params = fixtures, kept, params or {}
        self.name, self.module, self.function, self.owner, self.instance = name, module, function, owner, instance
        self.values, self.closing = {}, contextlib.ExitStack()

    def value(self, name):
        if name == "request":
            return Request(self, self.closing)
        found = self.fixtures.get(name)
        if found is None:
            raise Failed(f"fixture '{name}' not found")
        own = found.scope == "function"
        key = name if own else (name, self.params.get(name), self.owner if found.scope == "class" else None)
        values = self.values if own else self.kept.values
        if key not in values:
            values[key] = self._made(found, self.closing if own else self.kept.closing)
        return values[key]

    def _made(self, found, closing):
        at = self.params.get(found.name)
        request = Request(self, closing, None if at is None else bare(found.params[at]))
        given = {name: request if name == "request" else self.value(name) for name in found.needs()}
        make = found.function
        if hasattr(found, "owner"):
            make = make.__get__(self.instance)
        if inspect.isgeneratorfunction(make):
            return closing.enter_context(contextlib.contextmanager(make)(**given))
        return make(**given)


class Kept:
    """Values of fixtures with a wider scope than one test."""

    def __init__(self):
        self.values, self.closing = {}, contextlib.ExitStack()


def bare(value):
    return value[0] if isinstance(value, Param) else value


def known_fixtures(*places):
    """Fixtures by name; later places override earlier ones."""
    found = {each.name: each for each in BUILT_IN}
    for place in places:
        for name in dir(place):
            each = getattr(place, name, None)
            if isinstance(each, Fixture):
                found[each.name if each.name != each.function.__name__ else name] = each
    return found


def all_needed(names, fixtures):
    """Returns the names and the names that their fixtures need, each once."""
    needed, waiting = [], list(names)
    while waiting:
        name = waiting.pop(0)
        if name in needed or name not in fixtures:
            continue
        needed.append(name)
        waiting += fixtures[name].needs()
    return needed
