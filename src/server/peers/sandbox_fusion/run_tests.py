"""
Runs the tests of one file: with pytest if the profile has it, else as pytest does. The pytest stand-in and the fixtures
precede this source.
"""

import importlib.util
import inspect
import itertools
import sys
import time
import traceback

PASSED, FAILED, BROKEN, NONE_FOUND = 0, 1, 2, 5
"""Exit codes of pytest."""


def cases(marks, parametrized):
    """Yields each run of a test: name, arguments, fixture parameters and marks."""
    rows = [argument_rows(*mark.args, **mark.options) for mark in marks if mark.name == "parametrize"]
    rows += [fixture_rows(each) for each in parametrized]
    for choice in itertools.product(*rows):
        name = "-".join(part["name"] for part in choice)
        arguments = {key: value for part in choice for key, value in part["arguments"].items()}
        params = {key: value for part in choice for key, value in part["params"].items()}
        yield name, arguments, params, [mark for part in choice for mark in part["marks"]]


def argument_rows(argnames, argvalues, ids=None, **_):
    names = [name.strip() for name in argnames.split(",")] if isinstance(argnames, str) else list(argnames)
    for at, row in enumerate(argvalues):
        values = row if isinstance(row, Param) or len(names) > 1 else [row]
        if len(values) != len(names):
            raise Failed(f"in parametrize the number of names ({len(names)}): {names} must be equal to the number of values ({len(values)})")
        name = "-".join(map(value_name, values, names, itertools.repeat(at)))
        yield row_of(row, given_name(ids, at, row) or name, arguments=dict(zip(names, values)))


def fixture_rows(each):
    for at, value in enumerate(each.params):
        name = given_name(each.ids, at, value) or value_name(bare(value), each.name, at)
        yield row_of(value, name, params={each.name: at})


def row_of(row, name, arguments={}, params={}):
    return {"name": name, "arguments": arguments, "params": params, "marks": getattr(row, "marks", ())}


def given_name(ids, at, row):
    if getattr(row, "id", None) is not None:
        return row.id
    if callable(ids):
        return str(ids(bare(row)))
    return None if ids is None else str(list(ids)[at])


def value_name(value, name, at):
    plain = isinstance(value, (str, int, float, bool, type(None)))
    return str(value) if plain else getattr(value, "__name__", f"{name}{at}")


def collect(module, kept):
    """Yields each test of a module: name, marks and the function that runs it."""
    for name, found in list(vars(module).items()):
        if inspect.isclass(found) and is_test_case(found):
            for case in sys.modules["unittest"].defaultTestLoader.loadTestsFromTestCase(found):
                yield f"{name}::{case._testMethodName}", marks_of(found), lambda case=case: run_case(case)
        elif inspect.isclass(found) and name.startswith("Test"):
            for method in [method for method in dir(found) if method.startswith("test")]:
                yield from runs(f"{name}::{method}", getattr(found, method), module, kept, found)
        elif name.startswith("test") and inspect.isfunction(found):
            yield from runs(name, found, module, kept)


def is_test_case(found):
    """True for a `TestCase` of unittest. This module imports no unittest, as that takes longer than most tests."""
    test_case = getattr(sys.modules.get("unittest"), "TestCase", None)
    return test_case is not None and issubclass(found, test_case)


def runs(label, function, module, kept, owner=None):
    marks = [*marks_of(function), *marks_of(owner), *marks_of(module)]
    fixtures = known_fixtures(sys.modules.get("conftest"), module, owner)
    asked = [name for mark in marks if mark.name == "usefixtures" for name in mark.args]
    wanted = [name for name, each in fixtures.items() if each.autouse] + asked
    needed = all_needed([*wanted, *required(function)], fixtures)
    parametrized = [fixtures[name] for name in needed if fixtures[name].params is not None]
    for name, arguments, params, own in cases(marks, parametrized):

        def run(arguments=arguments, params=params):
            about = {"name": label, "module": module, "function": function, "params": params}
            instance = owner and owner()
            setup = Setup(fixtures, kept, owner=owner, instance=instance, **about)
            with setup.closing:
                run_function(setup, arguments, wanted)

        yield f"{label}[{name}]" if name else label, [*marks, *own], run


def run_function(setup, arguments, wanted):
    function, instance = setup.function, setup.instance
    if inspect.iscoroutinefunction(function):
        raise Failed("async def functions are not natively supported")
    test = function if instance is None else getattr(instance, function.__name__)
    place, kind = (setup.module, "function") if instance is None else (instance, "method")
    if setup.owner is not None:
        once(setup.kept, setup.owner, "class", setup.owner)
    for name in wanted:
        setup.value(name)
    around(place, f"setup_{kind}", test)
    setup.closing.callback(around, place, f"teardown_{kind}", test)
    names = [name for name in required(test) if name not in arguments]
    test(**arguments, **{name: setup.value(name) for name in names})


def once(kept, place, kind, argument):
    """Runs the set-up of a class or module before its first test; the tear-down runs at the end."""
    if (kind, place) not in kept.values:
        kept.values[kind, place] = None
        around(place, f"setup_{kind}", argument)
        kept.closing.callback(around, place, f"teardown_{kind}", argument)


def around(place, name, argument):
    hook = getattr(place, name, None)
    if hook is not None:
        hook(argument) if required(hook) else hook()


def run_case(case):
    result = case.run(sys.modules["unittest"].TestResult())
    wrong = [text for _, text in result.failures + result.errors] or ["it succeeds" for _ in result.unexpectedSuccesses]
    if wrong:
        raise Failed(wrong[0])
    if result.skipped:
        raise Skipped(result.skipped[0][1])


def is_skipped(marks):
    return any(mark.name == "skip" or mark.name == "skipif" and any(mark.args[:1]) for mark in marks)


def outcome(marks, run):
    """Returns the outcome of one test with its traceback or reason. Exiting does not pass."""
    if is_skipped(marks):
        return "skipped", ""
    expected = [mark for mark in marks if mark.name == "xfail" and all(mark.args[:1])]
    try:
        run()
    except Skipped as skipping:
        return "skipped", str(skipping)
    except (Exception, SystemExit) as error:
        if expected or isinstance(error, ExpectedFailure):
            return "xfailed", ""
        return "failed", told(error)
    if any(mark.options.get("strict") for mark in expected):
        return "failed", "[XPASS(strict)]\n"
    return "xpassed" if expected else "passed", ""


def told(error):
    """Returns a traceback without the frames of this runner."""
    trace = error.__traceback__
    while trace and trace.tb_frame.f_globals is globals():
        trace = trace.tb_next
    return "".join(traceback.format_exception(error.with_traceback(trace)))


class Interrupts:
    """Plugin of pytest, which ends a run by an exit code at an interrupt. A deadline must interrupt the program."""

    error = None

    def pytest_keyboard_interrupt(self, excinfo):
        if type(excinfo.value) is KeyboardInterrupt:  # the other kinds are pytest's own reasons to stop
            self.error = excinfo.value


def real_pytest():
    """Returns pytest if the profile has the package. A file of the request with its name does not count."""
    spec = importlib.util.find_spec("pytest")
    if spec is None or "/site-packages/" not in (spec.origin or ""):
        return None
    return importlib.import_module("pytest")


def run_pytest(pytest, name):
    """Runs the tests of a file with pytest itself. Returns its exit code."""
    interrupts = Interrupts()
    options = ["-v", "--no-header", "--color=no", "--capture=sys", "-p", "no:cacheprovider", "-p", "no:faulthandler"]
    code = pytest.main([*options, f"{name}.py"], plugins=[interrupts])
    if interrupts.error is not None:
        raise interrupts.error
    return int(code)


def main(name):
    pytest = real_pytest()
    if pytest is not None:
        return run_pytest(pytest, name)
    sys.modules["pytest"] = small_pytest()
    sys.path.insert(0, "")
    importlib.invalidate_caches()
    started, kept = time.perf_counter(), Kept()
    try:
        if importlib.util.find_spec("conftest"):
            importlib.import_module("conftest")
        module = importlib.import_module(name)
        tests = list(collect(module, kept))
        once(kept, module, "module", module)
    except Skipped as skipping:
        print(f"{name}.py skipped: {skipping}")
        return NONE_FOUND
    except (Exception, SystemExit) as error:
        print(f"ERROR collecting {name}.py\n{told(error)}")
        return BROKEN
    counts, summary = {}, []
    for label, marks, run in tests:
        status, why = outcome(marks, run)
        counts[status] = counts.get(status, 0) + 1
        print(f"{name}.py::{label} {status.upper()}")
        if status == "failed":
            print(why)
            summary.append(f"FAILED {name}.py::{label} - {why.strip().splitlines()[-1]}")
    kept.closing.close()
    ordered = [word for word in ("failed", "passed", "skipped", "xfailed", "xpassed") if word in counts]
    total = ", ".join(f"{counts[word]} {word}" for word in ordered) or "no tests ran"
    print(*summary, f"===== {total} in {time.perf_counter() - started:.2f}s =====", sep="\n")
    return FAILED if summary else PASSED if tests else NONE_FOUND
