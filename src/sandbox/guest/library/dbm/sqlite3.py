"""Databases in files of SQLite."""

from . import _Database, _Error as error

__all__ = ["error", "open"]


def open(filename, /, flag="r", mode=0o666):
    """Opens a database. See `dbm.open`."""
    return _Database(filename, flag, mode)
