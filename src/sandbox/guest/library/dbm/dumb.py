"""Databases of bytes in the two files `NAME.dir` and `NAME.dat`, in CPython's format. The first is an index."""

import ast
import builtins
import os
from collections.abc import MutableMapping

__all__ = ["error", "open"]

error = OSError

BLOCK_BYTES = 512
"""Values start at multiples of this in the data file."""


def open(file, flag="c", mode=0o666):
    """Opens a database. The flags are 'r' (read), 'w' (write), 'c' (create if it is missing) and 'n' (always new)."""
    if flag not in ("r", "w", "c", "n"):
        raise ValueError("Flag must be one of 'r', 'w', 'c', or 'n'")
    mask = os.umask(0)
    os.umask(mask)
    return _Database(file, flag, mode & ~mask)


class _Database(MutableMapping):
    _index = None

    def __init__(self, file, flag, mode):
        base = os.fsencode(file)
        self._directory, self._data, self._backup = base + b".dir", base + b".dat", base + b".bak"
        self._mode, self._readonly, self._modified = mode, flag == "r", False
        if flag == "n":
            for path in (self._data, self._backup, self._directory):
                _remove(path)
        self._create(self._data, flag)
        self._create(self._directory, flag)
        with builtins.open(self._directory, encoding="latin-1") as lines:
            entries = [ast.literal_eval(line.rstrip()) for line in lines]
        self._index = {key.encode("latin-1"): place for key, place in entries}

    def _create(self, path, flag):
        """Creates a file that is missing, if the flag allows that, and raises FileNotFoundError otherwise."""
        try:
            builtins.open(path, "rb").close()
        except OSError:
            if flag not in ("c", "n"):
                raise
            self._write(path, "wb", b"")

    def _write(self, path, file_mode, data):
        with builtins.open(path, file_mode) as file:
            os.chmod(path, self._mode)
            file.write(data)

    def _places(self):
        """Returns the offset and the size of each value, by key."""
        if self._index is None:
            raise error("DBM object has already been closed")
        return self._index

    def _writable_places(self):
        if self._readonly:
            raise error("The database is opened for reading only")
        places = self._places()
        self._modified = True
        return places

    def __getitem__(self, key):
        offset, size = self._places()[_encode(key)]
        with builtins.open(self._data, "rb") as file:
            file.seek(offset)
            return file.read(size)

    def __setitem__(self, key, value):
        if self._readonly:
            raise error("The database is opened for reading only")
        key, value = _bytes(key, "keys"), _bytes(value, "values")
        old = self._places().get(key)
        places = self._writable_places()
        fits = old is not None and _blocks(len(value)) <= _blocks(old[1])
        with builtins.open(self._data, "rb+") as file:
            offset = old[0] if fits else BLOCK_BYTES * _blocks(file.seek(0, os.SEEK_END))
            if not fits:
                file.write(bytes(offset - file.tell()))
            file.seek(offset)
            file.write(value)
        places[key] = offset, len(value)
        if old is None:
            self._write(self._directory, "ab", _line(key, places[key]))

    def __delitem__(self, key):
        del self._writable_places()[_encode(key)]
        self.sync()

    def __contains__(self, key):
        return _encode(key) in self._places()

    def __iter__(self):
        return iter(self._places())

    iterkeys = __iter__

    def __len__(self):
        return len(self._places())

    def keys(self):
        return list(self._places())

    def items(self):
        return [(key, self[key]) for key in self._places()]

    def sync(self):
        """Writes the index, and keeps the one before as a backup."""
        if self._index is None or not self._modified:
            return
        _remove(self._backup)
        try:
            os.rename(self._directory, self._backup)
        except OSError:
            pass  # there is none
        self._write(self._directory, "wb", b"".join(_line(key, place) for key, place in self._index.items()))
        self._modified = False

    _commit = sync

    def close(self):
        try:
            self.sync()
        finally:
            self._index = None

    __del__ = close

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _line(key, place):
    return f"{key.decode('latin-1')!r}, {place!r}\n".encode("latin-1")


def _blocks(size):
    return -(-size // BLOCK_BYTES)


def _encode(key):
    return key.encode() if isinstance(key, str) else key


def _bytes(value, what):
    value = _encode(value)
    if not isinstance(value, (bytes, bytearray)):
        raise TypeError(f"{what} must be bytes or strings")
    return value


def _remove(path):
    try:
        os.unlink(path)
    except OSError:
        pass  # there is none
