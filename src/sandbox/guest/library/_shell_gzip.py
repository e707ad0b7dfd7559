"""Commands of the shell for gzip's format: gzip, gunzip and zcat. Run as `python -m _shell_gzip gzip …`."""

import getopt
import os
import stat
import struct
import sys
import time
import zlib

LONG = {
    "stdout": "c", "to-stdout": "c", "decompress": "d", "uncompress": "d", "force": "f", "keep": "k", "list": "l",
    "no-name": "n", "name": "N", "quiet": "q", "recursive": "r", "suffix=": "S", "test": "t", "verbose": "v", "fast": "1",
    "best": "9", "ascii": "a", "synchronous": "", "rsyncable": "", "help": "h", "version": "V",
}  # fmt: skip
# Suffixes that decompression takes off, each with what it puts in their place.
SUFFIXES = {".gz": "", ".tgz": ".tar", ".taz": ".tar", "-gz": "", "-z": "", "_z": "", ".z": ""}
MAGIC = b"\x1f\x8b"
HAS_CRC, HAS_EXTRA, HAS_NAME, HAS_COMMENT = 2, 4, 8, 16
UNIX = 3
# Bytes before and behind the data, without the name.
FRAME_BYTES = 18
# Exit codes of an error and of a warning.
ERROR, WARNING = 1, 2


class Problem(Exception):
    """What is wrong with one file, and the exit code."""

    def __init__(self, message, code=ERROR, start=""):
        super().__init__(message)
        self.code, self.start = code, start


class Member:
    """One part of a file: what its header says, and its data."""

    def __init__(self, data, shown):
        self.name, self.mtime = "", 0
        try:
            at = self._read_header(data)
            inflater = zlib.decompressobj(-zlib.MAX_WBITS)
            self.text = inflater.decompress(data[at:])
            rest = inflater.unused_data
            if not inflater.eof or len(rest) < 8:
                raise Problem(f"{shown}: unexpected end of file", start="\n")
        except (struct.error, IndexError):
            raise Problem(f"{shown}: unexpected end of file", start="\n") from None
        except zlib.error:
            raise Problem(f"{shown}: invalid compressed data--format violated", start="\n") from None
        self.crc, size = struct.unpack("<II", rest[:8])
        if self.crc != zlib.crc32(self.text):
            raise Problem(f"{shown}: invalid compressed data--crc error", start="\n")
        if size != len(self.text) & 0xFFFFFFFF:
            raise Problem(f"{shown}: invalid compressed data--length error", start="\n")
        self.rest = rest[8:]

    def _read_header(self, data):
        _, method, flags, self.mtime = struct.unpack("<2sBBI", data[:8])
        at = 10
        if flags & HAS_EXTRA:
            at += 2 + struct.unpack("<H", data[at : at + 2])[0]
        if flags & HAS_NAME:
            end = data.index(0, at)
            self.name = os.fsdecode(data[at:end])
            at = end + 1
        if flags & HAS_COMMENT:
            at = data.index(0, at) + 1
        return at + 2 if flags & HAS_CRC else at


def compressed(text, level, name="", mtime=0):
    """Returns data in gzip's format, with the header that GNU's gzip writes."""
    extra = {1: 4, 9: 2}.get(level, 0)
    encoded = os.fsencode(name)
    mtime = int(mtime) if 0 <= mtime < 2**32 else 0
    head = MAGIC + struct.pack("<BBIBB", 8, HAS_NAME if name else 0, mtime, extra, UNIX)
    deflater = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflater.compress(text) + deflater.flush()
    end = struct.pack("<II", zlib.crc32(text), len(text) & 0xFFFFFFFF)
    return head + (encoded + b"\0" if name else b"") + body + end


def ratio(plain, packed, head):
    """The part of the text that compression saved."""
    saved = plain - (packed - head)
    return f"{100 * saved / plain if plain else 0:5.1f}%"


class Gzip:
    """A run of `gzip`, `gunzip` or `zcat`."""

    def __init__(self, name, args):
        self.code = 0
        options, self.files = getopt.gnu_getopt(args, "acdfhklLnNqrS:tvV123456789", list(LONG))
        self.options = {}
        self.level = 6
        for word, value in options:
            letter = word[1:] if not word.startswith("--") else LONG.get(word[2:], LONG.get(word[2:] + "=", ""))
            self.options[letter] = value
            if letter.isdigit():
                self.level = int(letter)
        self.suffix = self.options.get("S", ".gz")
        self.lists = "l" in self.options
        self.unpacks = name in ("gunzip", "zcat") or self.lists or "d" in self.options or "t" in self.options
        self.to_stdout = name == "zcat" or "c" in self.options
        self.totals = []

    def has(self, letter):
        return letter in self.options

    def report(self, problem):
        if str(problem) == "":
            return
        if problem.code != WARNING or not self.has("q"):
            print(f"{problem.start}gzip: {problem}", file=sys.stderr)
        self.code = self.code if self.code == ERROR else problem.code

    def run(self):
        for letter in ("h", "V", "L"):
            if self.has(letter):
                print(f"gzip: the option -{letter} is not available in the sandbox", file=sys.stderr)
                return ERROR
        for path in self.files or ["-"]:
            self._visit(path)
        if self.lists and len(self.totals) > 1:
            packed, plain, _ = (sum(column) for column in zip(*self.totals))
            self._print_row(packed, plain, self.totals[-1][2], "(totals)", " " * 28)
        return self.code

    def _visit(self, path):
        try:
            if path == "-":
                self._convert_stdin()
            else:
                self._convert_file(path)
        except Problem as problem:
            self.report(problem)
        except OSError as error:
            name = error.filename or path
            self.report(Problem(f"{name}: {os.strerror(error.errno)}" if path else os.strerror(error.errno)))

    def _convert_stdin(self):
        data = sys.stdin.buffer.read()
        if self.lists:
            self._list("stdin", data)
        elif self.unpacks:
            text = b"".join(self._texts(data, "stdin"))
            if not self.has("t"):
                self._print(text)
        else:
            packed = compressed(data, self.level)
            self._print(packed)
            if self.has("v"):
                print(ratio(len(data), len(packed), FRAME_BYTES), file=sys.stderr)

    def _print(self, data):
        sys.stdout.flush()
        sys.stdout.buffer.write(data)

    def _convert_file(self, path):
        if self.unpacks:
            path = self._existing(path)
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            status = os.stat(path)
            if not self.to_stdout and not self.has("f") and not self.lists and not self.has("t"):
                raise Problem(f"{path}: Too many levels of symbolic links")
        if stat.S_ISDIR(status.st_mode):
            if not self.has("r"):
                raise Problem(f"{path} is a directory -- ignored", WARNING)
            for name in sorted(os.listdir(path)):
                self._visit(os.path.join(path, name))
            return
        if not stat.S_ISREG(status.st_mode) and not self.to_stdout:
            raise Problem(f"{path} is not a directory or a regular file - ignored", WARNING)
        target = None if self.to_stdout or self.lists or self.has("t") else self._target(path)
        with open(path, "rb") as file:
            data = file.read()
        if self.unpacks:
            self._unpack(path, data, target, status)
        else:
            self._pack(path, data, target, status)

    def _existing(self, path):
        """Returns the path, or the one with a suffix that exists."""
        if path == "" or os.path.lexists(path):
            return path
        known = path.endswith((self.suffix, *SUFFIXES))
        candidates = [] if known else [path + suffix for suffix in (self.suffix, ".gz", ".z", "-z")]
        return next((one for one in candidates if os.path.lexists(one)), path if known else path + self.suffix)

    def _target(self, path):
        if not self.unpacks:
            ending = next((one for one in (self.suffix, *SUFFIXES) if path.endswith(one)), None)
            if ending is not None:
                raise Problem(f"{path} already has {ending} suffix -- unchanged", 0)
            return path + self.suffix
        ending = next((one for one in (self.suffix, *SUFFIXES) if path.endswith(one) and path != one), None)
        if ending is None:
            if self.has("r"):
                raise Problem("", 0)
            raise Problem(f"{path}: unknown suffix -- ignored", WARNING)
        return path[: -len(ending)] + ("" if ending == self.suffix else SUFFIXES.get(ending, ""))

    def _pack(self, path, data, target, status):
        name, mtime = ("", 0) if self.has("n") else (os.path.basename(path), status.st_mtime)
        packed = compressed(data, self.level, name, mtime)
        head = FRAME_BYTES + (len(os.fsencode(name)) + 1 if name else 0)
        self._deliver(path, packed, target, status, ratio(len(data), len(packed), head))

    def _unpack(self, path, data, target, status):
        if self.lists:
            self._list(path, data)
            return
        members = list(self._members(data, path))
        text = b"".join(self._texts(data, path, members))
        if target is not None and self.has("N") and members and members[0].name:
            target = os.path.join(os.path.dirname(target), os.path.basename(members[0].name))
        if self.has("t"):
            if self.has("v"):
                print(f"{path}:\t OK", file=sys.stderr)
            return
        self._deliver(path, text, target, status, ratio(len(text), len(data), self._head_size(members)))

    def _head_size(self, members):
        return FRAME_BYTES + sum(len(os.fsencode(member.name)) + 1 for member in members if member.name)

    def _deliver(self, path, data, target, status, saved):
        if target is None:
            self._print(data)
            if self.has("v"):
                print(f"{path}:\t{saved}", file=sys.stderr)
            return
        if os.path.lexists(target) and not self.has("f"):
            raise Problem(f"{target} already exists;\tnot overwritten", WARNING)
        with open(target, "wb") as file:
            file.write(data)
        os.chmod(target, stat.S_IMODE(status.st_mode))
        os.utime(target, (status.st_atime, status.st_mtime))
        if not self.has("k"):
            os.unlink(path)
        if self.has("v"):
            verb = "created" if self.has("k") else "replaced with"
            print(f"{path}:\t{saved} -- {verb} {target}", file=sys.stderr)

    def _members(self, data, shown):
        if data[:2] != MAGIC:
            message = "unexpected end of file" if len(data) < 2 else "not in gzip format"
            raise Problem(f"{shown}: {message}", start="\n")
        while data[:2] == MAGIC:
            member = Member(data, shown)
            yield member
            data = member.rest
        if data.strip(b"\0"):
            self.report(Problem(f"{shown}: decompression OK, trailing garbage ignored", WARNING, "\n"))

    def _texts(self, data, shown, members=None):
        """Returns the texts of the members. With `-f`, other data passes to stdout as it is."""
        if data[:2] != MAGIC and len(data) > 0 and self.has("f") and self.to_stdout:
            return [data]
        return [member.text for member in (self._members(data, shown) if members is None else members)]

    def _list(self, path, data):
        members = list(self._members(data, path))
        plain, packed = sum(len(member.text) for member in members), len(data)
        head = self._head_size(members)
        if not self.totals:
            titles = "         compressed        uncompressed  ratio uncompressed_name"
            print(("method  crc     date  time  " if self.has("v") else "") + titles)
        ending = next((one for one in (self.suffix, *SUFFIXES) if path.endswith(one)), "")
        name = path[: len(path) - len(ending)] + SUFFIXES.get(ending, "")
        if self.has("N") and members[-1].name:
            name = os.path.join(os.path.dirname(path), members[-1].name)
        date = time.strftime("%b %e %H:%M", time.localtime(members[-1].mtime or time.time()))
        self._print_row(packed, plain, head, name, f"defla {members[-1].crc:08x} {date} ")
        self.totals.append((packed, plain, head))

    def _print_row(self, packed, plain, head, name, details):
        print(f"{details if self.has('v') else ''}{packed:19d} {plain:19d} {ratio(plain, packed, head)} {name}")


def main(name, *args):
    try:
        run = Gzip(name, list(args))
    except getopt.GetoptError as error:
        letter = error.opt
        is_long = len(letter) > 1
        value = f"option requires an argument -- '{letter}'" if "requires" in error.msg else f"invalid option -- '{letter}'"
        print(f"gzip: {f"unrecognized option '--{letter}'" if is_long else value}", file=sys.stderr)
        print("Try `gzip --help' for more information.", file=sys.stderr)
        return ERROR
    return run.run()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
