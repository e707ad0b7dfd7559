import json
import os
import shutil
import stat

OUTSIDE = "/home/pyodide"


class Refusal(Exception):
    """A code of Connect and a message."""


def locate(path):
    """Returns the full path of one that a client sent. A relative one starts at the home directory."""
    if "\0" in path:
        raise Refusal("invalid_argument", "the path has a null character")
    if path == "~" or path.startswith("~/"):
        path = HOME + path[1:]
    return os.path.normpath(os.path.join(HOME, path))


def entry_of(path):
    """Returns what a client learns of a file, a folder or a link."""
    own = os.lstat(path)
    target = None
    if stat.S_ISLNK(own.st_mode):
        target = os.path.realpath(path)
    try:
        status = os.stat(path)
    except OSError:
        status = own
    kind = "directory" if stat.S_ISDIR(status.st_mode) else "file" if stat.S_ISREG(status.st_mode) else "other"
    return {
        "name": os.path.basename(path) or "/",
        "path": path,
        "type": kind,
        "size": own.st_size,
        "mode": stat.S_IMODE(own.st_mode),
        "permissions": stat.filemode(own.st_mode),
        "modifiedNs": own.st_mtime_ns,
        "target": target,
    }


def existing(path):
    full = locate(path)
    if not os.path.lexists(full):
        raise Refusal("not_found", f"path '{full}' does not exist")
    return full


def make_folders(full):
    """Makes a folder and those above it. The first part that is a file is refused."""
    at = ""
    for name in full.split("/")[1:]:
        at += "/" + name
        if os.path.isdir(at):
            continue
        if os.path.lexists(at):
            raise Refusal("invalid_argument", f"path '{at}' is not a directory")
        os.mkdir(at)
        os.chmod(at, 0o755)


def walk(full, depth):
    """Yields the paths below a folder, each folder before its entries."""
    for name in sorted(os.listdir(full)):
        path = full.rstrip("/") + "/" + name
        yield path
        if depth > 1 and os.path.isdir(path) and not os.path.islink(path):
            yield from walk(path, depth - 1)


class Entries:
    """The entries of a response, whose number and characters are bounded."""

    def __init__(self, *, entries, characters):
        self.left = entries
        self.characters = characters
        self.rows = []

    def add(self, row):
        self.left -= 1
        self.characters -= len(json.dumps(row)) + 2
        if self.left < 0 or self.characters < 0:
            raise Refusal("resource_exhausted", "the folder has too many entries")
        self.rows.append(row)


def folder_of(path):
    full = existing(path)
    if not os.path.isdir(full):
        raise Refusal("invalid_argument", f"path '{full}' is not a directory")
    return full


def stat_path(path):
    return {"entry": entry_of(existing(path))}


def list_folder(path, *, depth, **limits):
    entries = Entries(**limits)
    for inner in walk(folder_of(path), depth):
        entries.add(entry_of(inner))
    return {"entries": entries.rows}


def make_folder(path):
    full = locate(path)
    if os.path.isdir(full):
        raise Refusal("already_exists", f"directory '{full}' already exists")
    make_folders(full)
    return {"entry": entry_of(full)}


def move(source, destination):
    old, new = existing(source), locate(destination)
    make_folders(os.path.dirname(new))
    os.rename(old, new)
    return {"entry": entry_of(new), "from": old}


def remove(path):
    full = locate(path)
    if os.path.isdir(full) and not os.path.islink(full):
        shutil.rmtree(full)
    elif os.path.lexists(full):
        os.unlink(full)
    return {}


def snapshot(path, *, recursive, **limits):
    """Returns the state of each entry below a folder, by which a change is noticed."""
    entries = Entries(**limits)
    full = folder_of(path)
    for inner in walk(full, 64 if recursive else 1):
        entry = entry_of(inner)
        del entry["name"]
        entries.add(entry)
    return {"root": full, "entries": entries.rows}


def read(path, *, copy):
    """Puts a copy of a file where the server can fetch it."""
    full = existing(path)
    if os.path.isdir(full):
        raise Refusal("invalid_argument", f"path '{full}' is a directory")
    shutil.copyfile(full, OUTSIDE + "/" + copy)
    return {"entry": entry_of(full)}


def discard(copies):
    for copy in copies:
        if os.path.lexists(OUTSIDE + "/" + copy):
            os.unlink(OUTSIDE + "/" + copy)
    return {}


def write(files):
    """Moves files that the server has written to their places."""
    entries = []
    try:
        for path, copy in files:
            full = locate(path)
            if os.path.isdir(full):
                raise Refusal("invalid_argument", f"path '{full}' is a directory")
            make_folders(os.path.dirname(full))
            mode = stat.S_IMODE(os.stat(full).st_mode) if os.path.exists(full) else 0o644
            os.replace(OUTSIDE + "/" + copy, os.path.realpath(full))
            os.chmod(full, mode)
            entries.append(entry_of(full))
    finally:
        discard(copy for _, copy in files)
    return {"entries": entries}


ACTIONS = {
    "stat": stat_path,
    "list": list_folder,
    "makeDir": make_folder,
    "move": move,
    "remove": remove,
    "snapshot": snapshot,
    "read": read,
    "discard": discard,
    "write": write,
}


def answer(request):
    try:
        return ACTIONS[request.pop("action")](**request)
    except Refusal as refusal:
        code, message = refusal.args
        return {"code": code, "message": message}
    except FileNotFoundError as error:
        return {"code": "not_found", "message": f"path '{error.filename}' does not exist"}
    except (OSError, ValueError, shutil.Error) as error:
        full = getattr(error, "errno", None) == 28
        reason = getattr(error, "strerror", None) or "its name is invalid"
        return {"code": "resource_exhausted" if full else "invalid_argument", "message": f"the session refuses it: {reason}"}


print(json.dumps(answer(json.loads(REQUEST))))
