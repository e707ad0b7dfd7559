"""Databases in files of SQLite."""

import os
import sqlite3
from collections.abc import MutableMapping

__all__ = ["error", "open"]


class error(OSError):
    """A database cannot be opened, read or changed."""


def open(filename, /, flag="r", mode=0o666):
    """Opens a database. See `dbm.open`."""
    return _Database(filename, flag, mode)


class _Database(MutableMapping):
    def __init__(self, path, flag, mode):
        if flag not in ("r", "w", "c", "n"):
            raise ValueError(f"Flag must be one of 'r', 'w', 'c', or 'n', not {flag!r}")
        path = os.fsdecode(path)
        if flag == "n" and os.path.exists(path):
            os.remove(path)
        if flag in "rw" and not os.path.exists(path):
            raise error(f"unable to open database file: {path!r}")
        is_new = not os.path.exists(path)
        self._readonly = flag == "r"
        self._rows = sqlite3.connect(path, isolation_level=None)
        try:
            if not self._readonly:
                self._rows.execute("CREATE TABLE IF NOT EXISTS Dict (key BLOB UNIQUE NOT NULL, value BLOB NOT NULL)")
            self._rows.execute("SELECT 1 FROM Dict LIMIT 1")
        except sqlite3.Error as problem:
            self.close()
            raise error(str(problem)) from None
        if is_new:
            os.chmod(path, mode)

    def _execute(self, statement, values=()):
        if self._rows is None:
            raise error("DBM object has already been closed")
        try:
            return self._rows.execute(statement, values)
        except sqlite3.Error as problem:
            raise error(str(problem)) from None

    def _change(self, statement, values=()):
        if self._readonly:
            raise error("attempt to write a readonly database")
        return self._execute(statement, values)

    def __getitem__(self, key):
        row = self._execute("SELECT value FROM Dict WHERE key = CAST(? AS BLOB)", (key,)).fetchone()
        if row is None:
            raise KeyError(key)
        return row[0]

    def __setitem__(self, key, value):
        self._change("REPLACE INTO Dict (key, value) VALUES (CAST(? AS BLOB), CAST(? AS BLOB))", (key, value))

    def __delitem__(self, key):
        if self._change("DELETE FROM Dict WHERE key = CAST(? AS BLOB)", (key,)).rowcount == 0:
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
