"""Databases of bytes in one file each, for `dbm.open` and `shelve`. Each kind is a table of SQLite here."""

import io
import os
from collections.abc import MutableMapping

__all__ = ["open", "whichdb", "error"]


class _Error(OSError):
    pass


error = (_Error, OSError)


def open(file, flag="r", mode=0o666):
    """Opens a database. The flags are 'r' (read), 'w' (write), 'c' (create if it is missing) and 'n' (always new)."""
    return _Database(file, flag, mode)


def whichdb(filename):
    """Returns the module that can open a file, '' for a file that none can open, None for none."""
    try:
        with io.open(filename, "rb") as file:
            return "dbm.sqlite3" if file.read(16) == b"SQLite format 3\0" else ""
    except OSError:
        return None


class _Database(MutableMapping):
    def __init__(self, path, flag, mode):
        import sqlite3

        if flag not in ("r", "w", "c", "n"):
            raise ValueError(f"Flag must be one of 'r', 'w', 'c', or 'n', not {flag!r}")
        path = os.fsdecode(path)
        if flag == "n" and os.path.exists(path):
            os.remove(path)
        if flag in "rw" and not os.path.exists(path):
            raise _Error(f"db file doesn't exist; use 'c' or 'n' flag to create a new db: {path!r}")
        is_new = not os.path.exists(path)
        self._readonly = flag == "r"
        self._rows = sqlite3.connect(path, isolation_level=None)
        try:
            if not self._readonly:
                self._rows.execute("CREATE TABLE IF NOT EXISTS Dict (key BLOB UNIQUE NOT NULL, value BLOB NOT NULL)")
            self._rows.execute("SELECT 1 FROM Dict LIMIT 1")
        except sqlite3.Error as problem:
            self.close()
            raise _Error(str(problem)) from None
        if is_new:
            os.chmod(path, mode)

    def _execute(self, statement, values=()):
        if self._rows is None:
            raise _Error("DBM object has already been closed")
        return self._rows.execute(statement, values)

    def _change(self, statement, values=()):
        if self._readonly:
            raise _Error("The database is opened for reading only")
        return self._execute(statement, values)

    def __getitem__(self, key):
        row = self._execute("SELECT value FROM Dict WHERE key = ?", (_bytes(key),)).fetchone()
        if row is None:
            raise KeyError(key)
        return row[0]

    def __setitem__(self, key, value):
        self._change("REPLACE INTO Dict (key, value) VALUES (?, ?)", (_bytes(key), _bytes(value)))

    def __delitem__(self, key):
        if self._change("DELETE FROM Dict WHERE key = ?", (_bytes(key),)).rowcount == 0:
            raise KeyError(key)

    def __len__(self):
        return self._execute("SELECT COUNT(*) FROM Dict").fetchone()[0]

    def __iter__(self):
        for (key,) in self._execute("SELECT key FROM Dict ORDER BY rowid").fetchall():
            yield key

    def keys(self):
        return list(self)

    def clear(self):
        self._change("DELETE FROM Dict")

    def reorganize(self):
        self._change("VACUUM")

    def sync(self):
        """Does nothing: each change is already in the file."""

    def close(self):
        if self._rows is not None:
            self._rows.close()
            self._rows = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _bytes(value):
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    raise TypeError(f"keys and values must be bytes or strings, not {type(value).__name__}")
