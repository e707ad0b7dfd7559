"""Plugin of pytest that leaves a mark when the session of the tests has ended by itself."""

import os

_mark = os.environ.pop("PADDOCK_MARK")


def pytest_sessionfinish(session):
    if session.testscollected > 0 and session.testsfailed == 0:
        with open(_mark, "x"):
            pass
