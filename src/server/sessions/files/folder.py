import json
import os
import stat

HOME = "/home/pyodide"
KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}


class Refusal(Exception):
    """A reason of /v1 and its message."""


def locate(path, *, last_may_be_link):
    """Returns the full path. Refuses one that a symbolic link leads along, which could lead outside."""
    names = [name for name in path.split("/") if name not in ("", ".")]
    at = HOME
    for index, name in enumerate(names):
        at += "/" + name
        if os.path.islink(at) and not (last_may_be_link and index == len(names) - 1):
            raise Refusal("file_unreadable", "it is reached through a symbolic link")
    if not os.path.lexists(at):
        raise Refusal("file_not_found", "there is no such file or folder")
    return at


def list_folder(path, *, entries, characters):
    full = locate(path, last_may_be_link=False)
    if not os.path.isdir(full):
        raise Refusal("file_unreadable", "it is no folder")
    names = sorted(os.listdir(full))
    rows = []
    for name in names[:entries]:
        try:
            status = os.lstat(full + "/" + name)
        except OSError:
            continue
        kind = KINDS.get(stat.S_IFMT(status.st_mode), "other")
        row = [name, kind, status.st_size if kind == "file" else 0, status.st_mtime_ns]
        characters -= len(json.dumps(row)) + 2
        if characters < 0:
            break
        rows.append(row)
    return {"rows": rows, "total": len(names)}


def remove(path, *, recursive):
    full = locate(path, last_may_be_link=True)
    if os.path.islink(full) or not os.path.isdir(full):
        os.unlink(full)
        return {}
    if not recursive and os.listdir(full):
        raise Refusal("file_unwritable", "the folder is not empty: set recursive=true to remove all in it")
    for folder, folders, files in os.walk(full, topdown=False):
        for name in files:
            os.unlink(folder + "/" + name)
        for name in folders:
            inner = folder + "/" + name
            (os.unlink if os.path.islink(inner) else os.rmdir)(inner)
    os.rmdir(full)
    return {}


def make_directory(path):
    at = HOME
    for name in path.split("/"):
        if name in ("", "."):
            continue
        at += "/" + name
        if os.path.islink(at):
            raise Refusal("file_unwritable", "it is reached through a symbolic link")
        if os.path.lexists(at) and not os.path.isdir(at):
            raise Refusal("file_unwritable", "a file has this name")
        if not os.path.isdir(at):
            os.mkdir(at)
    return {}


def answer(request):
    try:
        work = {"list": list_folder, "remove": remove, "makeDirectory": make_directory}[request.pop("action")]
        return work(**request)
    except Refusal as refusal:
        reason, message = refusal.args
        return {"reason": reason, "message": message}
    except (OSError, ValueError) as error:
        return {"reason": "file_unwritable", "message": getattr(error, "strerror", None) or "its name is invalid"}


print(json.dumps(answer(json.loads(REQUEST))))
