"""`atexit` of each process."""

import atexit
import sys

_register, _unregister = atexit.register, atexit.unregister
_run_exit_functions, _clear_exit_functions = atexit._run_exitfuncs, atexit._clear


def register(function, /, *args, **kwargs):
    """Register a function to be executed upon normal program termination."""
    process = _procs.current()
    if process is _procs.root:
        return _register(function, *args, **kwargs)
    if not callable(function):
        raise TypeError("the first argument must be callable")
    process.exit_functions.append((function, args, kwargs))
    return function


def unregister(function, /):
    """Unregister an exit function which was previously registered using atexit.register."""
    process = _procs.current()
    if process is _procs.root:
        return _unregister(function)
    process.exit_functions[:] = [each for each in process.exit_functions if each[0] != function]


def run_exit_functions():
    """Run all registered exit functions."""
    process = _procs.current()
    if process is _procs.root:
        return _run_exit_functions()
    while process.exit_functions:
        function, args, kwargs = process.exit_functions.pop()
        try:
            function(*args, **kwargs)
        except BaseException as error:
            if process.ended:
                raise
            if not isinstance(error, SystemExit):
                sys.excepthook(type(error), error, error.__traceback__)


def clear_exit_functions():
    """Clear the list of previously registered exit functions."""
    process = _procs.current()
    if process is _procs.root:
        return _clear_exit_functions()
    process.exit_functions.clear()


atexit.register, atexit.unregister = register, unregister
atexit._run_exitfuncs, atexit._clear = run_exit_functions, clear_exit_functions
