"""`dbm.dumb`, whose databases are files of SQLite here."""

from . import _Database, _Error as error

__all__ = ["error", "open"]


def open(file, flag="c", mode=0o666):
    """Opens a database in the file `file.dat`."""
    return _Database(f"{file}.dat", flag, mode)
