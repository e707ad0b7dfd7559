"""
Runs one module of CPython's tests: `run_module.py MODULE [DIR [PROGRAMS]]`, where DIR contains the package `test`, and
PROGRAMS is 1 to run tests that start programs.

Writes to stderr, with a mark, what it does, and to stdout the outcome as one line of JSON.
"""

import io
import json
import os
import sys
import tempfile
import threading
import time
import unittest

MARK = "\x1e"
LIBRARY = "/cpython"
RESOURCES = ("walltime",)
LOOPBACK = ("test_socketserver",)
"""Modules that ask for the resource `network` and use only addresses of the machine itself."""


class Outcome(unittest.TextTestResult):
    """Collects the ids of tests that fail or are skipped, with the reason."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.failed, self.omitted = {}, {}

    def startTest(self, test):
        super().startTest(test)
        _log(test.id())

    def addError(self, test, error):
        super().addError(test, error)
        self._add(test, error)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._add(test, error)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self._add(test, error)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.omitted[test.id()] = str(reason)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.failed[test.id()] = "unexpected success"

    def _add(self, test, error):
        reason = f"{error[0].__name__}: {error[1]}"
        self.failed.setdefault(test.id(), reason[:300])
        _log(f"failed: {reason}\n{(self.errors or self.failures)[-1][1]}")


def _log(text):
    os.write(2, f"{MARK}{text}\n".encode("utf-8", "backslashreplace"))


class _InterpreterPoolExecutor:
    """Stands for the class that needs subinterpreters. Its tests share files with those of threads."""

    def __init__(self, *_args, **_options):
        raise unittest.SkipTest("there are no subinterpreters")


class _TemporaryThread:
    """Replaces functions of `_testcapi` that start a thread in C, where none can be started."""

    def __init__(self, testcapi):
        self.thread = None
        testcapi.call_in_temporary_c_thread = self.call
        testcapi.join_temporary_c_thread = self.join

    def call(self, function, wait=True):
        self.thread = threading.Thread(target=function)
        self.thread.start()
        if wait:
            self.join()

    def join(self):
        self.thread.join()


def _enable_features(module, programs):
    """Lets tests run that CPython skips on Emscripten. What they need exists in the sandbox."""
    import zoneinfo
    from concurrent import futures

    from test import support
    from test.support import threading_helper

    try:
        import _testcapi
    except ImportError:
        pass  # tests that need it are skipped
    else:
        _TemporaryThread(_testcapi)
    support.use_resources = (*RESOURCES, "network") if module in LOOPBACK else RESOURCES
    support.has_subprocess_support = programs
    support.is_emscripten = support.is_wasm32 = False
    support.has_socket_support = True
    threading_helper.can_start_thread = True
    futures.InterpreterPoolExecutor = _InterpreterPoolExecutor
    zoneinfo.__path__.append(f"{LIBRARY}/zoneinfo")  # has `_zoneinfo`, which Pyodide lacks


def _skip_process_pools():
    """Lets only the tests of thread pools run. Those of processes also crash the interpreter on purpose."""
    from concurrent.futures import process

    def check_system_limits():
        raise NotImplementedError

    process._check_system_limits = check_system_limits


def main(module, directory=LIBRARY, programs="0"):
    sys.path.insert(0, directory)
    started = time.monotonic()
    _enable_features(module, programs == "1")
    if module.startswith("test_concurrent_futures") and programs != "1":
        _skip_process_pools()
    os.chdir(tempfile.mkdtemp())
    try:
        suite = unittest.defaultTestLoader.loadTestsFromName(f"test.{module}")
        runner = unittest.TextTestRunner(stream=io.StringIO(), resultclass=Outcome, verbosity=0)
        result = runner.run(suite)
        outcome = {"run": result.testsRun, "skipped": result.omitted, "failed": result.failed}
    except unittest.SkipTest as reason:
        outcome = {"run": 0, "skipped": {module: str(reason)}, "failed": {}}
    outcome["seconds"] = round(time.monotonic() - started, 2)
    os.write(1, ("\n" + json.dumps(outcome) + "\n").encode())


main(*sys.argv[1:])
