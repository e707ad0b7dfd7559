"""The users of a sandbox: one, to whom everything belongs."""

import os
from collections import namedtuple

struct_passwd = namedtuple("struct_passwd", "pw_name pw_passwd pw_uid pw_gid pw_gecos pw_dir pw_shell")
struct_passwd.__module__ = "pwd"


def _user():
    return struct_passwd("pyodide", "x", os.getuid(), os.getgid(), "", "/home/pyodide", "/bin/sh")


def getpwall():
    """Returns all users."""
    return [_user()]


def getpwuid(uid, /):
    """Returns the user with an id."""
    if uid != os.getuid():
        raise KeyError(f"getpwuid(): uid not found: {uid}")
    return _user()


def getpwnam(name, /):
    """Returns the user with a name."""
    if name != _user().pw_name:
        raise KeyError(f"getpwnam(): name not found: {name!r}")
    return _user()
