"""
Runs a package's own tests with pytest: `run_suite.py SITE SOURCE [ARGUMENT…]`, where SITE has pytest and the package,
and SOURCE the package's source with its tests, of which a copy is made. Writes to stdout the outcomes as one line of
JSON behind a mark.
"""

import json
import os
import shutil
import sys
import tempfile

MARK = "\x1e"


class Outcomes:
    """Collects the outcome of each test: `passed`, `skipped`, or the reason of a failure."""

    def __init__(self):
        self.found = {}

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.found[report.nodeid] = _reason(report)
        elif report.skipped or report.when == "call":
            self.found.setdefault(report.nodeid, report.outcome)

    def pytest_collectreport(self, report):
        if report.failed:
            self.found[report.nodeid] = _reason(report)


def _reason(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr).strip().rsplit("\n", 1)[-1]
    return f"failed: {text}"[:300]


def main(site, source, *arguments):
    sys.path.insert(0, site)
    os.environ["PYTHONPATH"] = site  # of programs that tests start
    import pytest

    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(os.path.realpath(folder), "source")
        shutil.copytree(source, copy)
        for parent, folders, files in os.walk(copy):  # the source may be mounted read-only
            for name in (*folders, *files):
                os.chmod(os.path.join(parent, name), 0o755)
        os.chdir(copy)
        outcomes = Outcomes()
        options = ["-q", "-p", "no:cacheprovider", "--continue-on-collection-errors", "--tb=short", "-W", "ignore::pytest.PytestUnknownMarkWarning"]
        code = pytest.main([*options, *arguments], plugins=[outcomes])
        os.chdir("/")
    print(f"\n{MARK}{json.dumps({'code': int(code), 'outcomes': outcomes.found})}")


if __name__ == "__main__":
    main(*sys.argv[1:])
