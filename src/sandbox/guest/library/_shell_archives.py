"""Commands of the shell for archives: tar, zip, unzip, bzip2, xz and their kin. Run as `python -m _shell_archives tar …`."""

import bz2
import fnmatch
import io
import lzma
import os
import re
import stat
import sys
import tarfile
import time
import zipfile

import _shell_gzip

TAR_LONG = {
    "create": "c", "extract": "x", "get": "x", "list": "t", "append": "r", "update": "u", "concatenate": "A",
    "delete": "", "diff": "d", "compare": "d",
    "verbose": "v", "file": "f", "gzip": "z", "gunzip": "z", "bzip2": "j", "xz": "J", "auto-compress": "a",
    "directory": "C", "to-stdout": "O", "preserve-permissions": "p", "same-permissions": "p", "keep-old-files": "k",
    "dereference": "h", "files-from": "T", "exclude-from": "X", "absolute-names": "P", "wildcards": "", "totals": "",
    "no-recursion": "", "recursion": "", "null": "", "exclude": "", "strip-components": "", "transform": "", "xform": "",
    "owner": "", "group": "", "numeric-owner": "", "mtime": "", "sort": "", "mode": "", "format": "H",
    "remove-files": "", "no-same-owner": "", "same-owner": "", "no-same-permissions": "", "overwrite": "",
    "skip-old-files": "", "exclude-vcs": "", "one-top-level": "", "warning": "", "ignore-failed-read": "",
    "no-wildcards": "", "anchored": "", "touch": "m", "one-file-system": "", "sparse": "S", "posix": "", "checkpoint": "",
    "use-compress-program": "I",
}  # fmt: skip
TAR_VALUES = frozenset("fCTXHI")
TAR_LONG_VALUES = frozenset(
    "exclude strip-components transform xform owner group mtime sort mode files-from exclude-from directory file format "
    "warning use-compress-program".split()
)
TAR_LETTERS = "cxtruAdvfzjJaCOpkhTXPHImSwWlnoB"
COMPRESSIONS = {"z": "gz", "j": "bz2", "J": "xz"}
PROGRAMS = {"gzip": "gz", "gunzip": "gz", "bzip2": "bz2", "bunzip2": "bz2", "xz": "xz", "unxz": "xz"}
SUFFIXES = {".gz": "gz", ".tgz": "gz", ".bz2": "bz2", ".tbz": "bz2", ".tbz2": "bz2", ".xz": "xz", ".txz": "xz"}
VCS = (".git", ".svn", ".hg", ".bzr", "CVS", ".gitignore", ".gitmodules", ".gitattributes")


class UsageError(Exception):
    """An error in the arguments, and the exit code."""

    def __init__(self, message, code=2):
        super().__init__(message)
        self.code = code


# Exit code of an option that GNU's tar does not know.
UNKNOWN_OPTION = 64


class Tar:
    """A run of `tar` with GNU's options."""

    def __init__(self, args):
        self.failed = False
        self.options, self.names = {}, []
        self.excludes = []
        self._told_root = False
        self._parse(list(args))

    def _parse(self, args):
        if args and not args[0].startswith("-"):
            letters = args.pop(0)
            args[:0] = self._old_style(letters, args)
        folder = "."
        while args:
            word = args.pop(0)
            if word == "--":
                self.names += [(folder, name) for name in args]
                break
            if word.startswith("--"):
                name, _, value = word[2:].partition("=")
                matches = [long for long in TAR_LONG if long.startswith(name)]
                if name not in TAR_LONG and len(matches) != 1:
                    raise UsageError(f"unrecognized option '{word}'", UNKNOWN_OPTION)
                name = name if name in TAR_LONG else matches[0]
                if name in TAR_LONG_VALUES and "=" not in word:
                    value = self._value(args, f"option '--{name}' requires an argument")
                letter = TAR_LONG[name] or name
                folder = self._set(letter, value, folder)
            elif word.startswith("-") and word != "-":
                letters = word[1:]
                while letters:
                    letter, letters = letters[0], letters[1:]
                    if letter not in TAR_LETTERS:
                        raise UsageError(f"invalid option -- '{letter}'", UNKNOWN_OPTION)
                    value = ""
                    if letter in TAR_VALUES:
                        value, letters = letters or self._value(args, f"option requires an argument -- '{letter}'"), ""
                    folder = self._set(letter, value, folder)
            else:
                self.names.append((folder, word))

    def _old_style(self, letters, args):
        """Returns the letters of `tar xzf FILE` as options, with their values."""
        words = []
        for letter in letters:
            words.append("-" + letter)
            if letter in TAR_VALUES:
                words.append(self._value(args, f"Old option '{letter}' requires an argument."))
        return words

    def _value(self, args, message):
        if not args:
            raise UsageError(message)
        return args.pop(0)

    def _set(self, letter, value, folder):
        if letter == "C":
            folder = os.path.join(folder, value)
            if not os.path.isdir(folder):
                self.options.setdefault("missing folder", value)
            self.options["folder"] = folder
            return folder
        if letter in "cxtruAd" and len(letter) == 1:
            if self.options.get("mode_letter", letter) != letter:
                raise UsageError("You may not specify more than one '-Acdtrux', '--delete' or  '--test-label' option")
            self.options["mode_letter"] = letter
        elif letter == "exclude":
            self.excludes.append(value)
        elif letter == "X":
            with open(value) as file:
                self.excludes += file.read().split("\n")
        elif letter == "exclude-vcs":
            self.excludes += VCS
        elif letter == "T":
            self.options["T"] = (value, folder)
        else:
            self.options[letter] = value
        return folder

    def has(self, letter):
        return letter in self.options

    def warn(self, message):
        print(f"tar: {message}", file=sys.stderr)

    def fail(self, message):
        self.warn(message)
        self.failed = True

    def run(self):
        mode = self.options.get("mode_letter")
        if mode is None:
            raise UsageError("You must specify one of the '-Acdtrux', '--delete' or '--test-label' options")
        if mode in "Ad":
            raise OSError(f"-{mode} is not available in the sandbox")
        if self.has("I") and self.options["I"].split(" ")[0] not in PROGRAMS:
            raise OSError(f"the program '{self.options['I']}' of -I is not available in the sandbox")
        if self.has("missing folder"):
            self._fail_in_folder(mode)
        if self.has("T"):
            self._read_names(*self.options["T"])
        if mode == "c":
            self._create()
        elif mode in "ru":
            self._append(mode)
        else:
            self._read(mode)
        if self.failed:
            self.warn("Exiting with failure status due to previous errors")
        return 2 if self.failed else 0

    def _fail_in_folder(self, mode):
        """Fails, as GNU's does: behind an archive that it has begun to write."""
        if mode == "c":
            self._write(self._path(), self._compressed(b""))
        self.warn(f"{self.options['missing folder']}: Cannot open: No such file or directory")
        raise OSError("Error is not recoverable: exiting now")

    def _compressed(self, data):
        kind = self._compression(self._path())
        if kind == "gz":
            return _shell_gzip.compressed(data, 6)
        return bz2.compress(data) if kind == "bz2" else lzma.compress(data) if kind == "xz" else data

    def _read_names(self, path, folder):
        if path == "-":
            text = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                text = file.read()
        end = b"\0" if self.has("null") else b"\n"
        self.names += [(folder, os.fsdecode(name)) for name in text.split(end) if name]

    def _path(self):
        return self.options.get("f", "-")

    def _compression(self, path):
        for letter, name in COMPRESSIONS.items():
            if self.has(letter):
                return name
        if self.has("I"):
            return PROGRAMS[self.options["I"].split(" ")[0]]
        if self.has("a"):
            return next((name for suffix, name in SUFFIXES.items() if path.endswith(suffix)), "")
        return ""

    def _create(self):
        if not self.names and not self.has("T"):
            raise UsageError("Cowardly refusing to create an empty archive")
        path = self._path()
        output = io.BytesIO()
        with tarfile.open(fileobj=output, mode="w", format=self._format()) as archive:
            for folder, name in self.names:
                self._add(archive, folder, name)
        self._write(path, self._compressed(output.getvalue()))
        if self.has("remove-files"):
            self._remove_added()

    def _format(self):
        return tarfile.PAX_FORMAT if self.options.get("H") in ("pax", "posix") else tarfile.GNU_FORMAT

    def _write(self, path, data):
        if path == "-":
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
            return
        try:
            with open(path, "wb") as file:
                file.write(data)
        except OSError as error:
            raise OSError(f"{path}: Cannot open: {os.strerror(error.errno)}") from None

    def _append(self, mode):
        path = self._path()
        newest = {}
        if not os.path.exists(path):
            data = b""
        else:
            with open(path, "rb") as file:
                data = file.read()
        buffer = io.BytesIO(data)
        if data:
            with tarfile.open(fileobj=buffer) as archive:
                newest = {info.name: info.mtime for info in archive}
            buffer.seek(0)
        with tarfile.open(fileobj=buffer, mode="a" if data else "w", format=self._format()) as archive:
            for folder, name in self.names:
                self._add(archive, folder, name, newest if mode == "u" else None)
        self._write(path, buffer.getvalue())

    def _add(self, archive, folder, name, newest=None):
        full = os.path.join(folder, name)
        if not os.path.lexists(full):
            self.fail(f"{name}: Cannot stat: No such file or directory")
            return
        shown = name
        if self._is_excluded(shown):
            return
        member = name
        if not self.has("P") and member.startswith("/"):
            member = member.lstrip("/")
            if not self._told_root:
                self._told_root = True
                self.warn("Removing leading `/' from member names")
        info = archive.gettarinfo(os.path.realpath(full) if self.has("h") else full, member or "./")
        if info is None:
            return
        info.name = self._transformed(member or "./")
        self._set_owner(info)
        if newest is None or newest.get(info.name.rstrip("/"), -1) < info.mtime:
            if self.has("v"):
                is_folder = info.isdir() and not shown.endswith("/")
                self._tell(info, shown + "/" if is_folder else shown)
            if info.isreg():
                with open(full, "rb") as file:
                    archive.addfile(info, file)
            else:
                archive.addfile(info)
        if info.isdir() and not self.has("no-recursion"):
            entries = os.listdir(full)
            for entry in sorted(entries):  # folders list their entries by name
                self._add(archive, folder, name.rstrip("/") + "/" + entry if name != "/" else "/" + entry, newest)

    def _set_owner(self, info):
        for field in ("owner", "group"):
            value = self.options.get(field)
            if value is not None:
                name, _, number = value.partition(":")
                is_number = name.isdecimal()
                setattr(info, "uname" if field == "owner" else "gname", "" if is_number else name)
                setattr(info, "uid" if field == "owner" else "gid", int(number or (name if is_number else 0)))
        if self.has("numeric-owner"):
            info.uname = info.gname = ""
        if self.has("mtime"):
            text = self.options["mtime"]
            info.mtime = float(text[1:]) if text.startswith("@") else _time_of(text)
        if self.has("mode"):
            info.mode = int(self.options["mode"], 8)

    def _tell(self, info, name):
        stream = sys.stderr if self._path() == "-" and self.options["mode_letter"] == "c" else sys.stdout
        print(name, file=stream)

    def _is_excluded(self, name):
        parts = name.strip("/").split("/")
        tails = ["/".join(parts[at:]) for at in range(len(parts))]
        names = {name, name.rstrip("/"), *tails}
        return any(fnmatch.fnmatchcase(one, pattern.rstrip("/")) for pattern in self.excludes for one in names)

    def _transformed(self, name):
        for expression in (self.options.get("transform"), self.options.get("xform")):
            for pattern, replacement, flags in _replacements(expression or ""):
                name = re.sub(pattern, replacement, name, count=0 if "g" in flags else 1)
        return name

    def _read(self, mode):
        path = self._path()
        if path == "-":
            data = sys.stdin.buffer.read()
        else:
            try:
                with open(path, "rb") as file:
                    data = file.read()
            except OSError as error:
                self.warn(f"{path}: Cannot open: {os.strerror(error.errno)}")
                raise OSError("Error is not recoverable: exiting now") from None
        if data.strip(b"\0") == b"":
            if data == b"":
                raise OSError("This does not look like a tar archive") if path != "-" else OSError("Child returned status 1")
            return
        try:
            archive = tarfile.open(fileobj=io.BytesIO(data))
        except (tarfile.TarError, OSError, EOFError, lzma.LZMAError):
            self.warn("This does not look like a tar archive")
            raise OSError("Exiting with failure status due to previous errors") from None
        wanted = [name for _, name in self.names]
        folder = self.options.get("folder", ".")
        found = set()
        with archive:
            for info in archive:
                name = info.name + "/" if info.isdir() and not info.name.endswith("/") else info.name
                match = self._match(name, wanted)
                if match is None or self._is_excluded(name):
                    continue
                found.add(match)
                if mode == "t":
                    print(_long_line(info, name, self.has("numeric-owner")) if self.has("v") else name)
                else:
                    self._extract(archive, info, name, folder)
        for name in wanted:
            if name not in found:
                self.fail(f"{name}: Not found in archive")

    def _match(self, name, wanted):
        """Returns the operand that names a member, "" without operands, None if no operand does."""
        if not wanted:
            return ""
        for one in wanted:
            plain = one.rstrip("/")
            if name.rstrip("/") == plain or name.startswith(plain + "/"):
                return one
            if self.has("wildcards") and fnmatch.fnmatchcase(name.rstrip("/"), one):
                return one
        return None

    def _extract(self, archive, info, name, folder):
        parts = [part for part in self._transformed(name).split("/") if part not in ("", ".")]
        parts = parts[int(self.options.get("strip-components", 0)):]
        if not parts:
            return
        if ".." in parts:
            self.fail(f"{name}: Member name contains '..'")
            return
        if name.startswith("/") and not self.has("P") and not self._told_root:
            self._told_root = True
            self.warn("Removing leading `/' from member names")
        if self.has("v"):
            print(name, file=sys.stderr if self.has("O") else sys.stdout)
        if self.has("O"):
            if info.isreg():
                sys.stdout.flush()
                sys.stdout.buffer.write(archive.extractfile(info).read())
            return
        root = "/" if self.has("P") and name.startswith("/") else folder
        target = os.path.join(root, *parts)
        if os.path.lexists(target) and not info.isdir():
            if self.has("skip-old-files"):
                return
            if self.has("k"):
                self.fail(f"{name}: Cannot open: File exists")
                return
            if not os.path.isdir(target) or os.path.islink(target):
                os.unlink(target)
        try:
            os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
            self._make(archive, info, target, root)
        except OSError as error:
            self.fail(f"{name}: Cannot open: {os.strerror(error.errno)}")

    def _make(self, archive, info, target, root):
        if info.isdir():
            os.makedirs(target, exist_ok=True)
        elif info.issym():
            os.symlink(info.linkname, target)
            return
        elif info.islnk():
            with open(os.path.join(root, info.linkname), "rb") as source, open(target, "wb") as file:
                file.write(source.read())
        elif info.isreg():
            with open(target, "wb") as file:
                file.write(archive.extractfile(info).read())
        else:
            return
        os.chmod(target, info.mode & 0o7777)
        if not self.has("m"):
            os.utime(target, (info.mtime, info.mtime))

    def _remove_added(self):
        for folder, name in self.names:
            full = os.path.join(folder, name)
            for top, folders, files in os.walk(full, topdown=False):
                for file in files:
                    os.unlink(os.path.join(top, file))
                for inner in folders:
                    os.rmdir(os.path.join(top, inner))
            if os.path.isdir(full):
                os.rmdir(full)
            elif os.path.lexists(full):
                os.unlink(full)


def _replacements(expression):
    """Reads `s/PATTERN/REPLACEMENT/FLAGS;…` of sed as expressions of Python."""
    while expression:
        if not expression.startswith("s") or len(expression) < 2:
            raise OSError(f"Invalid transform expression: {expression}")
        separator = re.escape(expression[1])
        part = rf"((?:\\.|(?!{separator})[^\\])*)"
        match = re.match(rf"s{separator}{part}{separator}{part}{separator}([gixrRsShH\d]*)(?:;|$)", expression, re.S)
        if match is None:
            raise OSError(f"Invalid transform expression: {expression}")
        pattern, replacement, flags = match.groups()
        pattern = pattern.replace("\\" + expression[1], separator)
        replacement = replacement.replace("\\" + expression[1], expression[1])
        if "x" not in flags:
            pattern = re.sub(r"\\([(){}|+?])|([(){}|+?])", lambda m: m[1] or "\\" + m[2], pattern)
        yield pattern, re.sub(r"&", r"\\g<0>", re.sub(r"\\(\d)", r"\\g<\1>", replacement)), flags
        expression = expression[match.end():]


def _time_of(text):
    for form in ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ"):
        try:
            return time.mktime(time.strptime(text, form))
        except ValueError:
            pass
    raise OSError(f"Invalid time '{text}'")


def _long_line(info, name, is_numeric):
    kind = "d" if info.isdir() else "l" if info.issym() else "h" if info.islnk() else "-"
    mode = kind + stat.filemode(info.mode)[1:]
    owner = info.uid if is_numeric or not info.uname else info.uname
    group = info.gid if is_numeric or not info.gname else info.gname
    size = str(info.size)
    owners = f"{owner}/{group}"
    date = time.strftime("%Y-%m-%d %H:%M", time.localtime(info.mtime))
    link = f" -> {info.linkname}" if info.issym() else f" link to {info.linkname}" if info.islnk() else ""
    width = max(0, 19 - len(owners) - 1)
    return f"{mode} {owners} {size.rjust(width - 1)} {date} {name}{link}"


def tar(args):
    try:
        command = Tar(args)
        return command.run()
    except UsageError as error:
        print(f"tar: {error}", file=sys.stderr)
        print("Try 'tar --help' or 'tar --usage' for more information.", file=sys.stderr)
        return error.code
    except OSError as error:
        print(f"tar: {error}", file=sys.stderr)
        return 2


def compress(args, name):
    """`bzip2`, `xz` and their kin."""
    is_xz = name in ("xz", "unxz", "xzcat", "lzma")
    suffix = ".xz" if is_xz else ".bz2"
    flags = "".join(word[1:] for word in args if word.startswith("-") and not word.startswith("--") and word != "-")
    longs = {word for word in args if word.startswith("--")}
    unpacks = "d" in flags or longs & {"--decompress", "--uncompress"} or name in ("bunzip2", "bzcat", "unxz", "xzcat")
    to_stdout = "c" in flags or longs & {"--stdout", "--to-stdout"} or name in ("bzcat", "xzcat")
    keeps = "k" in flags or "--keep" in longs
    forces = "f" in flags or "--force" in longs
    tests = "t" in flags or "--test" in longs
    level = next((int(letter) for letter in flags if letter.isdigit()), 6 if is_xz else 9)
    files = [word for word in args if word == "-" or not word.startswith("-")] or ["-"]
    failed = False

    def convert(data):
        if unpacks or tests:
            return lzma.decompress(data) if is_xz else bz2.decompress(data)
        return lzma.compress(data, preset=level) if is_xz else bz2.compress(data, max(1, level))

    for path in files:
        try:
            if path == "-":
                output = convert(sys.stdin.buffer.read())
            else:
                with open(path, "rb") as file:
                    output = convert(file.read())
            if tests:
                continue
            if path == "-" or to_stdout:
                sys.stdout.buffer.write(output)
                continue
            if unpacks and not path.endswith(suffix):
                print(f"{name}: {path}: Filename has an unknown suffix, skipping", file=sys.stderr)
                failed = True
                continue
            target = path[: -len(suffix)] if unpacks else path + suffix
            if os.path.exists(target) and not forces:
                print(f"{name}: {target}: File exists", file=sys.stderr)
                failed = True
                continue
            with open(target, "wb") as file:
                file.write(output)
            os.chmod(target, os.stat(path).st_mode & 0o7777)
            if not keeps:
                os.unlink(path)
        except OSError as error:
            message = os.strerror(error.errno) if error.errno else "File format not recognized"
            print(f"{name}: {path}: {message}", file=sys.stderr)
            failed = True
        except (lzma.LZMAError, EOFError, ValueError):
            print(f"{name}: {path}: File format not recognized", file=sys.stderr)
            failed = True
    return 1 if failed else 0


def zip_files(args):
    """`zip [-rjq9x…] ARCHIVE FILES`."""
    flags, names, excludes = set(), [], []
    words = list(args)
    while words:
        word = words.pop(0)
        if word in ("-x", "--exclude"):
            while words and not words[0].startswith("-"):
                excludes.append(words.pop(0))
        elif word == "-@":
            names += sys.stdin.read().split("\n")
        elif word.startswith("-") and len(word) > 1 and not word.startswith("--"):
            flags |= set(word[1:])
        elif word.startswith("--"):
            flags.add({"--recurse-paths": "r", "--junk-paths": "j", "--quiet": "q"}.get(word, ""))
        else:
            names.append(word)
    names = [name for name in names if name]
    if not names:
        print("zip error: Nothing to do!", file=sys.stderr)
        return 16
    path = names.pop(0)
    if "." not in os.path.basename(path):
        path += ".zip"
    if not names:
        print(f"\nzip error: Nothing to do! ({path})")
        return 12
    entries = {}
    for name in names:
        if not os.path.exists(name):
            print(f"\tzip warning: name not matched: {name}")
            continue
        entries[name] = None
        if "r" in flags:
            for top, folders, files in os.walk(name):
                for entry in sorted(folders + files):
                    entries[os.path.join(top, entry)] = None
    chosen = [name for name in entries if not any(fnmatch.fnmatchcase(name, pattern) for pattern in excludes)]
    if not chosen:
        print(f"\nzip error: Nothing to do! ({path})")
        return 12
    old = {}
    if os.path.exists(path):
        with zipfile.ZipFile(path) as archive:
            old = {info.filename: (info, archive.read(info)) for info in archive.infolist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        members = {}
        for name in chosen:
            member = os.path.basename(name) if "j" in flags else name.removeprefix("./").lstrip("/")
            if os.path.isdir(name):
                member = "" if "j" in flags else member.rstrip("/") + "/"
            if member and member != "./":
                members[member] = name
        for member, (info, data) in old.items():
            if member not in members:
                archive.writestr(info, data)
        for member, name in members.items():
            verb = "updating" if member in old else "  adding"
            archive.write(name, member)
            info = archive.getinfo(member)
            saved = round(100 * (1 - info.compress_size / info.file_size)) if info.file_size else 0
            if saved <= 0 and info.file_size:
                saved = 0
            if "q" not in flags:
                print(f"{verb}: {member} (deflated {saved}%)" if saved else f"{verb}: {member} (stored 0%)")
    return 0


def unzip(args):
    """`unzip [-lopqnjd] ARCHIVE [MEMBERS]`."""
    flags, names, folder, excludes = set(), [], ".", []
    words = list(args)
    while words:
        word = words.pop(0)
        if word.startswith("-d"):
            folder = word[2:] or (words.pop(0) if words else ".")
        elif word == "-x":
            excludes, words = words, []
        elif word.startswith("-") and len(word) > 1:
            flags |= set(word[1:])
        else:
            names.append(word)
    if not names:
        print("unzip:  an archive is needed: unzip [-lopqnj] ARCHIVE [MEMBERS] [-d FOLDER]", file=sys.stderr)
        return 10
    path = names.pop(0)
    path = path if os.path.exists(path) else path + ".zip"
    if not os.path.exists(path):
        print(f"unzip:  cannot find or open {names and path or path[:-4]}, {path} or {path.upper()}.", file=sys.stderr)
        return 9
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile:
        print(f"  End-of-central-directory signature not found: {path} is no zip file.", file=sys.stderr)
        return 9

    def is_chosen(name):
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in excludes):
            return False
        return not names or any(fnmatch.fnmatchcase(name, pattern) for pattern in names)

    with archive:
        chosen = [info for info in archive.infolist() if is_chosen(info.filename)]
        if "l" in flags or "v" in flags:
            return _list_zip(path, chosen)
        if "p" in flags or "c" in flags:
            for info in chosen:
                sys.stdout.buffer.write(archive.read(info))
            return 0 if chosen else 11
        if "q" not in flags:
            print(f"Archive:  {path}")
        if "t" in flags:
            broken = archive.testzip()
            print(f"No errors detected in compressed data of {path}." if broken is None else f"{broken}: bad CRC")
            return 0 if broken is None else 2
        for info in chosen:
            _unzip_member(archive, info, folder, flags)
        if not chosen:
            print(f"caution: filename not matched:  {' '.join(names)}", file=sys.stderr)
            return 11
    return 0


def _unzip_member(archive, info, folder, flags):
    parts = [part for part in info.filename.split("/") if part not in ("", ".", "..")]
    if "j" in flags:
        parts = [] if info.is_dir() else parts[-1:]
    if not parts:
        return
    target = os.path.join(folder, *parts)
    shown = target.removeprefix("./") if folder == "." else target
    if info.is_dir():
        if not os.path.isdir(target):
            os.makedirs(target)
            if "q" not in flags:
                print(f"   creating: {shown}/")
        return
    if os.path.exists(target) and "n" in flags:
        return
    if os.path.exists(target) and "o" not in flags:
        print(f"replace {shown}? [y]es, [n]o, [A]ll, [N]one, [r]ename:  NULL", file=sys.stderr)
        print("(EOF or read error, treating as \"[N]one\" ...)", file=sys.stderr)
        return
    os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
    with open(target, "wb") as file:
        file.write(archive.read(info))
    mode = info.external_attr >> 16 & 0o777
    if mode:
        os.chmod(target, mode)
    date = time.mktime((*info.date_time, 0, 0, -1))
    os.utime(target, (date, date))
    if "q" not in flags:
        verb = "extracting" if info.compress_type == zipfile.ZIP_STORED else " inflating"
        print(f" {verb}: {shown}  ")


def _list_zip(path, chosen):
    print(f"Archive:  {path}")
    print("  Length      Date    Time    Name")
    print("---------  ---------- -----   ----")
    for info in chosen:
        year, month, day, hour, minute, _ = info.date_time
        print(f"{info.file_size:9d}  {year:04d}-{month:02d}-{day:02d} {hour:02d}:{minute:02d}   {info.filename}")
    total, count = sum(info.file_size for info in chosen), len(chosen)
    print("---------                     -------")
    print(f"{total:9d}                     {count} file{'' if count == 1 else 's'}")
    return 0


def main(name, *args):
    if name == "tar":
        return tar(args)
    if name == "zip":
        return zip_files(args)
    if name == "unzip":
        return unzip(args)
    return compress(args, name)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
