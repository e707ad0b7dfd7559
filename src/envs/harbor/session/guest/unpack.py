"""Removes files of a session, and writes the files of a packed file, whose form `pack.py` has."""

import json
import os
import shutil

source, removed = json.loads(globals()["REQUEST"])


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


for path in removed:
    remove(path)
with open(source, "rb") as packed:
    entries = json.loads(packed.readline())["entries"]
    for kind, path, *rest in entries:
        if kind == "folder":
            if os.path.islink(path) or not os.path.isdir(path):
                remove(path)
            os.makedirs(path, exist_ok=True)
            continue
        remove(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if kind == "link":
            os.symlink(rest[0], path)
            continue
        size, is_executable = rest
        with open(path, "wb") as target:
            target.write(packed.read(size))
        if is_executable:
            os.chmod(path, 0o755)
os.unlink(source)
