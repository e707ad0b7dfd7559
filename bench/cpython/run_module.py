"""Runs one module of CPython's tests and prints its outcome as one line of JSON."""

import io
import json
import sys
import time
import unittest

sys.path.insert(0, "/cpython")


class Outcome(unittest.TextTestResult):
    """Collects the ids of tests that fail, with the last line of each traceback."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.failed = {}

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

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.failed[test.id()] = "unexpected success"

    def _add(self, test, error):
        self.failed.setdefault(test.id(), f"{error[0].__name__}: {error[1]}"[:300])


def main(module):
    started = time.monotonic()
    errors = io.StringIO()
    try:
        suite = unittest.defaultTestLoader.loadTestsFromName(f"test.{module}")
        result = unittest.TextTestRunner(stream=errors, resultclass=Outcome, verbosity=0).run(suite)
        outcome = {"run": result.testsRun, "skipped": len(result.skipped), "failed": result.failed}
    except unittest.SkipTest as reason:
        outcome = {"run": 0, "skipped": 1, "failed": {}, "reason": str(reason)}
    outcome["seconds"] = round(time.monotonic() - started, 2)
    sys.__stdout__.write("\n" + json.dumps(outcome) + "\n")


main(sys.argv[1])
