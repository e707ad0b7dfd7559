import json
import os
import shutil
import stat

HOME = "/home/pyodide"
NEW_MODE = 0o644  # what Linux gives a file by default: chmod -w leaves no one who may write


class Refusal(Exception):
    """A reason of /v1 and its message."""


def read(path, *, copy):
    """Returns a path under the working directory that has the contents of a file."""
    full = os.path.realpath(path, strict=True)
    mode = os.stat(full).st_mode
    if stat.S_ISDIR(mode):
        raise Refusal("file_is_directory", "it is a directory")
    if not stat.S_ISREG(mode):
        raise Refusal("file_unreadable", "it is not a plain file")
    with open(full, "rb") as file:
        if full.startswith(HOME + "/"):
            return {"at": full[len(HOME) + 1 :], "isCopy": False}
        try:
            with open(HOME + "/" + copy, "xb") as target:
                shutil.copyfileobj(file, target, 1 << 20)
        except BaseException:
            discard(path, copy=copy)
            raise
    return {"at": copy, "isCopy": True}


def write(path, *, copy):
    """Moves a file from the working directory to its place. An existing file keeps its mode, and a new file may be read by all."""
    try:
        full = os.path.realpath(path)
        if path.endswith("/") or os.path.isdir(full):
            raise Refusal("file_is_directory", "it is a directory")
        if os.path.lexists(full) and not os.path.isfile(full):
            raise Refusal("file_unwritable", "it is not a plain file")
        os.makedirs(os.path.dirname(full), exist_ok=True)
        mode = NEW_MODE
        if os.path.isfile(full):
            if not os.access(full, os.W_OK):
                raise Refusal("file_forbidden", "its mode forbids it")
            mode = stat.S_IMODE(os.stat(full).st_mode)
        os.chmod(HOME + "/" + copy, mode)
        os.replace(HOME + "/" + copy, full)
    finally:
        discard(path, copy=copy)
    return {}


def discard(path, *, copy):
    if os.path.lexists(HOME + "/" + copy):
        os.unlink(HOME + "/" + copy)
    return {}


def answer(request):
    action = request.pop("action")
    try:
        return {"read": read, "write": write, "discard": discard}[action](**request)
    except Refusal as refusal:
        reason, message = refusal.args
        return {"reason": reason, "message": message}
    except FileNotFoundError:
        return {"reason": "file_not_found", "message": "there is no such file"}
    except PermissionError:
        return {"reason": "file_forbidden", "message": "its mode forbids it"}
    except (OSError, ValueError) as error:
        reason = "file_unwritable" if action == "write" else "file_unreadable"
        return {"reason": reason, "message": getattr(error, "strerror", None) or "its name is invalid"}


print(json.dumps(answer(json.loads(REQUEST))))
