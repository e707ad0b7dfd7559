"""Limits `sys.setrecursionlimit`: freeing the traceback of a deeper recursion would crash the interpreter."""

import sys

MAX_LIMIT = 20_000

_set_limit = sys.setrecursionlimit


def setrecursionlimit(limit, /):
    """Set the maximum depth of the Python interpreter stack; more than 20,000 counts as 20,000."""
    _set_limit(min(limit, MAX_LIMIT) if isinstance(limit, int) else limit)


setrecursionlimit.__module__ = "sys"
sys.setrecursionlimit = setrecursionlimit
