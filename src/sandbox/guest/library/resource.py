"""Limits and usage of resources. Limits are remembered and not enforced: those of the session hold."""

import operator
import posix
import time
from collections import namedtuple

error = OSError

RLIM_INFINITY = -1
RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_STACK, RLIMIT_CORE, RLIMIT_RSS = range(6)
RLIMIT_NPROC, RLIMIT_NOFILE, RLIMIT_MEMLOCK, RLIMIT_AS = range(6, 10)
RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE, RLIMIT_NICE, RLIMIT_RTPRIO, RLIMIT_RTTIME = range(11, 16)
RLIMIT_OFILE = RLIMIT_NOFILE
RUSAGE_SELF, RUSAGE_CHILDREN, RUSAGE_THREAD = 0, -1, 1

_MAX_RESOURCE = 16
_PAGE_KIB = 64
_BRIDGE = 3
_limits = {number: (RLIM_INFINITY, RLIM_INFINITY) for number in range(_MAX_RESOURCE)}
_limits[RLIMIT_STACK] = 8 << 20, RLIM_INFINITY
_limits[RLIMIT_CORE] = 0, RLIM_INFINITY
_limits[RLIMIT_NOFILE] = 1024, 1 << 20
_limits[RLIMIT_MEMLOCK] = 8 << 20, 8 << 20
_limits[RLIMIT_NPROC] = _limits[RLIMIT_SIGPENDING] = 1000, 1000
_limits[RLIMIT_MSGQUEUE] = 819200, 819200
_limits[RLIMIT_NICE] = _limits[RLIMIT_RTPRIO] = 0, 0

_write = posix.write


class struct_rusage(
    namedtuple(
        "struct_rusage",
        "ru_utime ru_stime ru_maxrss ru_ixrss ru_idrss ru_isrss ru_minflt ru_majflt ru_nswap ru_inblock ru_oublock "
        "ru_msgsnd ru_msgrcv ru_nsignals ru_nvcsw ru_nivcsw",
    )
):
    """Result of getrusage. Fields that the sandbox does not measure are 0."""

    __slots__ = ()
    __module__ = "resource"


def getrlimit(resource, /):
    """Return the soft and the hard limit of a resource."""
    return _limits[_number(resource)]


def setrlimit(resource, limits, /):
    """Set the soft and the hard limit of a resource."""
    resource = _number(resource)
    limits = tuple(limits)
    if len(limits) != 2:
        raise ValueError("expected a tuple of 2 integers")
    soft, hard = (_limit(limit) for limit in limits)
    if hard != RLIM_INFINITY and (soft == RLIM_INFINITY or soft > hard):
        raise ValueError("current limit exceeds maximum limit")
    _limits[resource] = soft, hard


def prlimit(pid, resource, limits=None, /):
    """Get or set the limits of a process."""
    if pid not in (0, posix.getpid()):
        raise ProcessLookupError(3, "No such process")
    old = getrlimit(resource)
    if limits is not None:
        setrlimit(resource, limits)
    return old


def getrusage(who, /):
    """Return the resources that the program has used."""
    if who not in (RUSAGE_SELF, RUSAGE_CHILDREN, RUSAGE_THREAD):
        raise ValueError("invalid who parameter")
    if who == RUSAGE_CHILDREN:
        return struct_rusage(0.0, 0.0, *[0] * 14)
    return struct_rusage(time.process_time(), 0.0, _memory_kib(), *[0] * 13)


def getpagesize():
    """Return the number of bytes in a page."""
    return 4096


def _number(resource):
    resource = operator.index(resource)
    if not 0 <= resource < _MAX_RESOURCE:
        raise ValueError("invalid resource specified")
    return resource


def _limit(value):
    value = operator.index(value)
    return RLIM_INFINITY if value in (RLIM_INFINITY, 2**64 - 1) else value


def _memory_kib():
    try:
        return _write(_BRIDGE, b"M") * _PAGE_KIB
    except OSError:
        return 0  # the program has closed the descriptor
