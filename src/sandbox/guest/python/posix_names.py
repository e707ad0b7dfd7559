"""Functions of CPython on Linux that Emscripten's build lacks and that can be provided in Python."""

import hashlib
import hmac
import operator
import os
import sys
import time


USER = "pyodide"
_process_time, _process_time_ns = time.process_time, time.process_time_ns


def getgroups():
    """Return a list of supplemental group IDs for the process."""
    return [os.getgid()]


def getrandom(size, flags=0):
    """Obtain a series of random bytes."""
    return os.urandom(size)


def sched_getaffinity(pid, /):
    """Return the set of processors that the program may use."""
    return {0}


_mask = [0o022]


def umask(mask, /):
    """Set the current numeric umask and return the previous umask. Emscripten forgets it, and does not apply it."""
    old, _mask[0] = _mask[0], operator.index(mask) & 0o777
    return old


def nice(increment, /):
    """Add increment to the priority of process and return the new priority."""
    return 0


def getlogin():
    """Return the actual login name."""
    return USER


def tzset():
    """Initialize, or reinitialize, the local timezone to the value stored in os.environ['TZ']."""
    import _local_time

    name = os.environ.get("TZ")
    _bridge.set_zone(name, _local_time.apply(name))


def thread_time():
    """Thread time for profiling. All threads of a program share one CPU clock here."""
    return _process_time()


def thread_time_ns():
    """Thread time for profiling as nanoseconds."""
    return _process_time_ns()


def pbkdf2_hmac(hash_name, password, salt, iterations, dklen=None):
    """Password based key derivation function 2 (PKCS #5 v2.0) with HMAC as pseudorandom function."""
    size = hashlib.new(hash_name).digest_size
    length = size if dklen is None else dklen
    if iterations < 1:
        raise ValueError("iteration value must be greater than 0.")
    if length < 1:
        raise ValueError("key length must be greater than 0.")
    keyed = hmac.new(password, digestmod=hash_name)
    key = b""
    for block in range(1, -(-length // size) + 1):
        digest = _digest(keyed, bytes(salt) + block.to_bytes(4))
        total = int.from_bytes(digest)
        for _ in range(iterations - 1):
            digest = _digest(keyed, digest)
            total ^= int.from_bytes(digest)
        key += total.to_bytes(size)
    return key[:length]


def _digest(keyed, message):
    copy = keyed.copy()
    copy.update(message)
    return copy.digest()


def _provide(module, name, function):
    if not hasattr(module, name):
        function.__module__ = module.__name__
        setattr(module, name, function)


for _function in (getgroups, getrandom, sched_getaffinity, nice):
    _provide(os, _function.__name__, _function)
getlogin.__module__ = "posix"
os.getlogin = getlogin
os.environ.update(LOGNAME=USER, USER=USER, PWD=os.environ["HOME"])
os.geteuid, os.getegid = os.getuid, os.getgid
os.umask = umask
umask.__module__ = "os"
for _function in (tzset, thread_time, thread_time_ns):
    _provide(time, _function.__name__, _function)
time.tzname = "UTC", "UTC"
_provide(hashlib, "pbkdf2_hmac", pbkdf2_hmac)
sys.executable = "/usr/bin/python3"
