"""Runs a program of the tests: ``-m MODULE`` or a file. Leaves a mark when the program itself has come to its end.

Code under test may end the process with status 0, at once or in an exit function. Then there is no mark.
"""

import os
import runpy
import sys

_mark = os.environ.pop("PADDOCK_MARK")
_TRUSTED = ("/tests/", "/lib/")
"""Folders of the tests and of the standard library."""


def _leave_mark():
    with open(_mark, "x"):
        pass


def _is_own(error):
    """True if the tests or the standard library have raised the error, not the code under test."""
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_filename.startswith(_TRUSTED)


def _run(words):
    is_module = words[0] == "-m"
    name, *_ = sys.argv[:] = words[is_module:]
    sys.path[0] = "" if is_module else os.path.dirname(os.path.abspath(name))
    try:
        if is_module:
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(name, run_name="__main__")
    except SystemExit as error:
        if _is_own(error):
            _leave_mark()
        raise
    _leave_mark()


_run(sys.argv[1:])
