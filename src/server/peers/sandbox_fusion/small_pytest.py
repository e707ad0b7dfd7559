"""Stand-in for pytest: raises, warns, approx, marks, outcomes."""

import contextlib
import importlib
import math
import re
import types
import warnings


class Skipped(Exception):
    pass


class ExpectedFailure(Exception):
    pass


class Failed(AssertionError):
    pass


class Raises:
    """Expects an exception in its block and holds it afterwards."""

    def __init__(self, expected, pattern=None, check=None):
        self.expected, self.pattern, self.check = expected, pattern, check
        self.type = self.value = self.tb = None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            raise Failed(f"DID NOT RAISE {self.expected!r}")
        if not issubclass(kind, self.expected):
            return False
        self.type, self.value, self.tb = kind, value, trace
        if self.pattern is not None:
            self.match(self.pattern)
        if self.check is not None and not self.check(value):
            raise Failed(f"{value!r} does not pass its check")
        return True

    def match(self, pattern):
        if re.search(pattern, str(self.value)) is None:
            raise Failed(f"Regex pattern did not match.\n  Expected regex: {pattern!r}\n  Actual message: {str(self.value)!r}")
        return True


def raises(expected=Exception, *call, match=None, check=None, **options):
    if not call:
        return Raises(expected, match, check)
    with Raises(expected) as caught:
        call[0](*call[1:], **options)
    return caught


@contextlib.contextmanager
def warns(expected=Warning, *, match=None):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught
    fitting = [each for each in caught if issubclass(each.category, expected)]
    if not any(match is None or re.search(match, str(each.message)) for each in fitting):
        raise Failed(f"DID NOT WARN. No warnings of type {expected!r} were emitted")


class Approx:
    """Compares numbers approximately, also in a list, tuple or dict."""

    def __init__(self, expected, rel=None, abs=None, nan_ok=False):
        self.expected, self.rel, self.abs, self.nan_ok = expected, rel, abs, nan_ok

    def __eq__(self, actual):
        return self._same(actual, self.expected)

    def __repr__(self):
        return f"approx({self.expected!r})"

    def _same(self, actual, expected):
        if isinstance(expected, dict):
            keys = isinstance(actual, dict) and actual.keys() == expected.keys()
            return keys and all(self._same(actual[key], value) for key, value in expected.items())
        if isinstance(expected, (list, tuple)):
            same = isinstance(actual, (list, tuple)) and len(actual) == len(expected)
            return same and all(map(self._same, actual, expected))
        return self._near(actual, expected)

    def _near(self, actual, expected):
        if actual == expected:
            return True
        if expected != expected:
            return self.nan_ok and actual != actual
        try:
            distance, size = abs(actual - expected), abs(expected)
        except TypeError:
            return False
        if size == math.inf:
            return False
        share = self.rel if self.rel is not None else 0 if self.abs is not None else 1e-6
        return distance <= max(share * float(size), 1e-12 if self.abs is None else self.abs)


class Mark:
    """Mark of a test. Called with a test it is applied; otherwise the arguments are stored."""

    def __init__(self, name, args=(), options=None):
        self.name, self.args, self.options = name, args, options or {}

    def __call__(self, *args, **options):
        target = args[0] if len(args) == 1 and not options else None
        if isinstance(target, type) or isinstance(target, types.FunctionType) and target.__name__ != "<lambda>":
            target.pytestmark = [self, *marks_of(target)]
            return target
        return Mark(self.name, (*self.args, *args), {**self.options, **options})


class Marks:
    """`pytest.mark`: any mark is accepted; parametrize, skip, skipif, xfail and usefixtures have an effect."""

    def __getattr__(self, name):
        return Mark(name)


def marks_of(target):
    found = getattr(target, "pytestmark", [])
    return list(found) if isinstance(found, (list, tuple)) else [found]


class Param(tuple):
    """One row of a parametrized test."""

    marks, id = (), None


def param(*values, id=None, marks=()):
    row = Param(values)
    row.id, row.marks = id, marks if isinstance(marks, (list, tuple)) else [marks]
    return row


def skip(reason="", *, allow_module_level=False):
    raise Skipped(reason)


def xfail(reason=""):
    raise ExpectedFailure(reason)


def fail(reason="", pytrace=True):
    raise Failed(reason)


def importorskip(name, minversion=None, reason=None):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Skipped(reason or f"could not import {name!r}: {error}") from None


def small_pytest():
    module = types.ModuleType("pytest", "The part of pytest that is here.")
    offered = {"raises": raises, "warns": warns, "approx": Approx, "mark": Marks(), "param": param}
    outcomes = {"skip": skip, "xfail": xfail, "fail": fail, "importorskip": importorskip}
    fixtures = {"fixture": fixture, "FixtureRequest": Request, "MonkeyPatch": MonkeyPatch}
    vars(module).update(offered, **outcomes, **fixtures)
    return module
