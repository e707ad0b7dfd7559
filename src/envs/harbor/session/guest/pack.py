"""Packs files of a session into one file: a line of JSON with the entries, and the contents one after the other."""

import json
import os
import stat
import sys

roots, target, max_entries, max_bytes = json.loads(globals()["REQUEST"])
SKIPPED = {"__pycache__", ".pytest_cache"}
entries, files = [], []


def add(path):
    if len(entries) >= max_entries:
        raise ValueError(f"there are more than {max_entries} files")
    info = os.lstat(path)
    if stat.S_ISLNK(info.st_mode):
        entries.append(["link", path, os.readlink(path)])
    elif stat.S_ISDIR(info.st_mode):
        entries.append(["folder", path])
    elif stat.S_ISREG(info.st_mode):
        if sum(size for _, size in files) + info.st_size > max_bytes:
            raise ValueError(f"the files have more than {max_bytes} bytes")
        entries.append(["file", path, info.st_size, bool(info.st_mode & 0o100)])
        files.append((path, info.st_size))


for root in roots:
    if not os.path.lexists(root):
        continue
    add(root)
    if os.path.isdir(root) and not os.path.islink(root):
        for folder, names, others in os.walk(root):
            names[:] = sorted(name for name in names if name not in SKIPPED)
            for name in [*names, *sorted(others)]:
                add(os.path.join(folder, name))

PACKAGES = "/lib/python3.14/site-packages"
installed = os.listdir(PACKAGES) if os.path.isdir(PACKAGES) else []
modules = sorted({*sys.stdlib_module_names, *(name.split(".")[0] for name in installed)})
with open(target, "wb") as packed:
    packed.write(json.dumps({"entries": entries, "modules": modules}).encode() + b"\n")
    for path, size in files:
        with open(path, "rb") as source:
            packed.write(source.read(size).ljust(size, b"\0"))
