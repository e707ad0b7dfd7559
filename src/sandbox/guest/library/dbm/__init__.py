"""Databases of bytes, for `dbm.open` and `shelve`. A new one is a table of SQLite."""

import importlib
import io
import os

__all__ = ["open", "whichdb", "error"]


class error(Exception):
    """A database cannot be opened."""


error = (error, OSError)
_names = ["dbm.sqlite3", "dbm.dumb"]
_modules = {}
_defaultmod = None


def open(file, flag="r", mode=0o666):
    """Opens a database. The flags are 'r' (read), 'w' (write), 'c' (create if it is missing) and 'n' (always new)."""
    kind = None if "n" in flag else whichdb(file)
    if kind == "":
        raise error[0]("db type could not be determined")
    if kind is None and "c" not in flag and "n" not in flag:
        raise error[0]("db file doesn't exist; use 'c' or 'n' flag to create a new db")
    module = _default() if kind is None else importlib.import_module(kind)
    return module.open(file, flag, mode)


def _default():
    global _defaultmod
    if _defaultmod is None:
        for name in _names:
            _modules[name] = importlib.import_module(name)
        _defaultmod = _modules[_names[0]]
    return _defaultmod


def whichdb(filename):
    """Returns the module that can open a file, '' for a file that none can open, None for none."""
    filename = os.fsencode(filename)
    try:
        with io.open(filename + b".dir", "rb") as file:
            if os.path.exists(filename + b".dat") and file.read(1) in (b"", b"'", b'"'):
                return "dbm.dumb"
    except OSError:
        pass  # it has another kind
    try:
        with io.open(filename, "rb") as file:
            return "dbm.sqlite3" if file.read(16) == b"SQLite format 3\0" else ""
    except OSError:
        return None
