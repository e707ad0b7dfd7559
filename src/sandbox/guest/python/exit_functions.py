"""`atexit` of each process, and of a program of the shell."""

import atexit

_unregister, _count_exit_functions = atexit.unregister, atexit._ncallbacks
_run_exit_functions, _clear_exit_functions = atexit._run_exitfuncs, atexit._clear


def register(function, /, *args, **kwargs):
    """Register a function to be executed upon normal program termination."""
    if not callable(function):
        raise TypeError("the first argument must be callable")
    _procs.current().exit_functions.append((function, args, kwargs))
    return function


def unregister(function, /):
    """Unregister an exit function which was previously registered using atexit.register."""
    process = _procs.current()
    process.exit_functions[:] = [each for each in process.exit_functions if each[0] != function]
    if process is _procs.root:
        _unregister(function)


def run_exit_functions():
    """Run all registered exit functions."""
    run_own()
    if _procs.current() is _procs.root:
        _errors.with_builtins(_run_exit_functions)  # those of the image's modules


def run_own():
    """Runs the exit functions that the program of the running process has registered."""
    process = _procs.current()
    for function, args, kwargs in reversed(list(process.exit_functions)):
        try:
            function(*args, **kwargs)
        except BaseException as error:
            if process.ended:
                raise
            _ends.report_ignored(error, f"Exception ignored in atexit callback {function!r}")
    process.exit_functions.clear()


def clear_exit_functions():
    """Clear the list of previously registered exit functions."""
    process = _procs.current()
    process.exit_functions.clear()
    if process is _procs.root:
        _clear_exit_functions()


def count_exit_functions():
    """Return the number of functions currently registered."""
    process = _procs.current()
    return len(process.exit_functions) + (_count_exit_functions() if process is _procs.root else 0)


atexit.register, atexit.unregister, atexit._ncallbacks = register, unregister, count_exit_functions
atexit._run_exitfuncs, atexit._clear = run_exit_functions, clear_exit_functions
