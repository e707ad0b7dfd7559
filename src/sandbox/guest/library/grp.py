"""The groups of a sandbox: that of its only user."""

import os
from collections import namedtuple

struct_group = namedtuple("struct_group", "gr_name gr_passwd gr_gid gr_mem")
struct_group.__module__ = "grp"


def _group():
    return struct_group("pyodide", "x", os.getgid(), [])


def getgrall():
    """Returns all groups."""
    return [_group()]


def getgrgid(id):
    """Returns the group with an id."""
    if id != os.getgid():
        raise KeyError(f"getgrgid(): gid not found: {id}")
    return _group()


def getgrnam(name):
    """Returns the group with a name."""
    if name != _group().gr_name:
        raise KeyError(f"getgrnam(): name not found: {name!r}")
    return _group()
