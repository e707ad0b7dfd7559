"""Text files as lists of lines. Line ends and invalid bytes are preserved."""

import os
import stat

IMAGES = (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0", b"MM\0*", b"RIFF")
BINARY_LOOK = 8192
"""Number of bytes that are checked to tell text from binary files."""


class TextFile:
    """The lines of a file without newlines; a line that ends in `\\r\\n` keeps the `\\r`."""

    def __init__(self, path, data):
        self.path = path
        self.data = data
        lines = data.decode("utf-8", "surrogateescape").split("\n")
        self.ends_open = lines[-1] != ""
        """True if the last line has no newline."""
        self.lines = lines if self.ends_open else lines[:-1]
        self.carriage = "\r" if self.lines and self.lines[0].endswith("\r") else ""

    @classmethod
    def read(cls, path):
        with open(path, "rb") as file:
            return cls(path, file.read())

    def replaced(self, first, removed, text):
        """Returns the file with `removed` lines from line `first` replaced by `text`."""
        added = [f"{line}{self.carriage}" for line in text]
        start = first - 1
        lines = [*self.lines[:start], *added, *self.lines[start + removed :]]
        keeps_end = self.ends_open and start + removed < len(self.lines)
        joined = "\n".join(lines) + ("" if keeps_end or not lines else "\n")
        return TextFile(self.path, joined.encode("utf-8", "surrogateescape"))

    def write(self):
        """Writes the complete file, or restores its old contents and raises OSError."""
        with open(self.path, "rb") as file:
            before = file.read()
        try:
            with open(self.path, "wb") as file:
                file.write(self.data)
        except OSError:
            with open(self.path, "wb") as file:
                file.write(before)
            raise


def is_image(path):
    with open(path, "rb") as file:
        return file.read(8).startswith(IMAGES)


def is_binary(path):
    with open(path, "rb") as file:
        return b"\0" in file.read(BINARY_LOOK)


def is_read_only(path):
    return not os.stat(path).st_mode & stat.S_IWUSR or not os.access(path, os.W_OK)


def show(file, center, window):
    """Returns the numbered lines of a file in a window of `window` lines; `center` is its middle line."""
    total, half = len(file.lines), window // 2
    above = max(0, center - half)
    below = max(0, total - above - window)
    shown = file.lines[above : above + window]
    return [
        f"[File: {os.path.realpath(file.path)} ({total} lines total)]",
        *([f"({above} more lines above)"] if above else []),
        *(f"{above + index}:{line.removesuffix('\r')}" for index, line in enumerate(shown, 1)),
        *([f"({below} more lines below)"] if below else []),
    ]


def clamp_center(center, total, window):
    """Moves the middle of a window so that the window lies within a file of `total` lines."""
    half = window // 2
    return max(min(center, total - half), half)
