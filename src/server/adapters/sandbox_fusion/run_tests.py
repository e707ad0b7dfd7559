"""Runs the tests of one file in the manner of pytest, of which it is a small part: fixtures are left out."""

import importlib
import inspect
import itertools
import re
import sys
import traceback
import types
import unittest

PASSED, FAILED, BROKEN, NONE_FOUND = 0, 1, 2, 5
"""Exit codes, as those of pytest."""


class Skipped(Exception):
    pass


class Failed(AssertionError):
    pass


class Raises:
    """Expects an exception of the block under it."""

    def __init__(self, expected, match=None):
        self.expected, self.match, self.value = expected, match, None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            raise Failed(f"DID NOT RAISE {self.expected!r}")
        if not issubclass(kind, self.expected):
            return False
        self.type, self.value, self.tb = kind, value, trace
        if self.match is not None and re.search(self.match, str(value)) is None:
            raise Failed(f"Regex pattern {self.match!r} does not match {str(value)!r}")
        return True


class Approx:
    """Equals what is nearly the same: a number, or numbers in a list, a tuple or a dict."""

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
        if not isinstance(expected, (int, float, complex)) or abs(expected) == float("inf"):
            return False
        share = self.rel if self.rel is not None else 0 if self.abs is not None else 1e-6
        return abs(actual - expected) <= max(share * abs(expected), 1e-12 if self.abs is None else self.abs)


class Marks:
    """`pytest.mark`: any mark may be set; parametrize, skip, skipif and xfail do something."""

    def __getattr__(self, name):
        def mark(*args, **options):
            if len(args) == 1 and not options and (inspect.isfunction(args[0]) or inspect.isclass(args[0])):
                return marked(args[0], (name, (), {}))
            return lambda target: marked(target, (name, args, options))

        return mark


def marked(target, mark):
    target.pytestmark = [mark, *getattr(target, "pytestmark", [])]
    return target


def raises(expected, *call, match=None, **options):
    if not call:
        return Raises(expected, match)
    with Raises(expected, match) as caught:
        call[0](*call[1:], **options)
    return caught


def skip(reason=""):
    raise Skipped(reason)


def fail(reason=""):
    raise Failed(reason)


def fixture(*args, **_):
    return args[0] if args and callable(args[0]) else lambda function: function


def param(*values, **_):
    return Param(values)


class Param(tuple):
    pass


def small_pytest():
    module = types.ModuleType("pytest", "The part of pytest that is here.")
    offered = {"raises": raises, "approx": Approx, "mark": Marks(), "skip": skip, "fail": fail}
    vars(module).update(offered, fixture=fixture, param=param)
    return module


def cases(function):
    """The arguments of each run of a test: one run without any, unless it is parametrized."""
    rows = [
        [dict(zip(names(args[0]), values(args[0], row))) for row in args[1]]
        for name, args, options in getattr(function, "pytestmark", [])
        if name == "parametrize"
    ]
    for choice in itertools.product(*rows):
        yield {name: value for row in choice for name, value in row.items()}


def names(text):
    return [name.strip() for name in text.split(",")] if isinstance(text, str) else list(text)


def values(text, row):
    return row if isinstance(row, Param) or len(names(text)) > 1 else [row]


def skipped(target):
    marks = getattr(target, "pytestmark", [])
    return any(name == "skip" or name == "skipif" and args and args[0] for name, args, _ in marks)


def collect(module):
    """Each test of a module: its name, and what runs it."""
    for name, found in list(vars(module).items()):
        if inspect.isclass(found) and issubclass(found, unittest.TestCase):
            for case in unittest.defaultTestLoader.loadTestsFromTestCase(found):
                yield f"{name}::{case._testMethodName}", found, lambda case=case: run_case(case)
        elif inspect.isclass(found) and name.startswith("Test"):
            yield from class_tests(name, found)
        elif name.startswith("test") and inspect.isfunction(found):
            yield from runs(name, found, lambda found=found: (found, module, "function"))


def class_tests(name, found):
    around(found, "setup_class", found)
    for method in [method for method in dir(found) if method.startswith("test")]:

        def bound(method=method):
            instance = found()
            return getattr(instance, method), instance, "method"

        yield from runs(f"{name}::{method}", getattr(found, method), bound, found)


def runs(name, function, bound, owner=None):
    for at, arguments in enumerate(cases(function)):
        label = f"{name}[{at}]" if arguments else name
        target = function if owner is None or skipped(function) else owner
        yield label, target, lambda arguments=arguments: run_function(bound, arguments)


def run_function(bound, arguments):
    function, owner, kind = bound()
    if inspect.iscoroutinefunction(function):
        raise Failed("async def functions are not supported")
    missing = [name for name in required(function) if name not in arguments]
    if missing:
        raise Failed(f"fixtures are not available here: {', '.join(missing)}")
    around(owner, f"setup_{kind}", function)
    try:
        function(**arguments)
    except Exception:
        if not any(name == "xfail" for name, *_ in getattr(function, "pytestmark", [])):
            raise
    finally:
        around(owner, f"teardown_{kind}", function)


def required(function):
    parameters = inspect.signature(function).parameters.values()
    return [each.name for each in parameters if each.default is each.empty]


def around(owner, name, function):
    hook = getattr(owner, name, None)
    if hook is not None:
        hook(function) if required(hook) else hook()


def run_case(case):
    result = case.run(unittest.TestResult())
    wrong = [text for _, text in result.failures + result.errors] or ["it succeeds" for _ in result.unexpectedSuccesses]
    if wrong:
        raise Failed(wrong[0])
    if result.skipped:
        raise Skipped(result.skipped[0][1])


def outcome(target, run):
    """What became of one test, and the end of its traceback. Exiting is no way to pass."""
    if skipped(target):
        return "skipped", ""
    try:
        run()
        return "passed", ""
    except Skipped as skipping:
        return "skipped", str(skipping)
    except (Exception, SystemExit) as error:
        return "failed", "".join(traceback.format_exception(error))


def main(name):
    sys.modules["pytest"] = small_pytest()
    sys.path.insert(0, "")
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(name)
        tests = list(collect(module))
        around(module, "setup_module", module)
    except (Exception, SystemExit) as error:
        print(f"ERROR collecting {name}.py\n{''.join(traceback.format_exception(error))}")
        return BROKEN
    counts = {"failed": 0, "passed": 0, "skipped": 0}
    for label, target, run in tests:
        status, why = outcome(target, run)
        counts[status] += 1
        print(f"{name}.py::{label} {status.upper()}")
        if status == "failed":
            print(why)
    print(", ".join(f"{count} {status}" for status, count in counts.items() if count) or "no tests ran")
    return FAILED if counts["failed"] else PASSED if tests else NONE_FOUND
