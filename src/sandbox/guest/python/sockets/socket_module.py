"""Replaces the contents of the module `_socket`, and imports `socket` again, whose class derives from it."""

import _socket
import importlib
import socket
import sys

HOST_FUNCTIONS = (
    "inet_pton inet_ntop getaddrinfo getnameinfo gethostbyaddr gethostbyname gethostbyname_ex getservbyname "
    "getservbyport if_nameindex if_nametoindex if_indextoname sethostname"
).split()


def socketpair(family=1, type=1, proto=0, /):
    """Create a pair of socket objects from the sockets returned by the platform socketpair() function."""
    kind = _socket_type.integer(type)
    ends = _messages.pair(_socket_type.integer(family), kind & ~_socket_type.FLAG_BITS, _socket_type.integer(proto))
    return tuple(socket_class(family, type, proto, fileno=_pipes.add(end)) for end in ends)


def close(fd, /):
    """Close an integer socket file descriptor."""
    _socket_type.end_of(_socket_type.integer(fd))
    _pipes.close(fd)


def dup(fd, /):
    """Return a new socket file descriptor with the same properties as the given one."""
    _socket_type.end_of(_socket_type.integer(fd))
    return _pipes.dup(fd)


def getdefaulttimeout():
    """Returns the default timeout in seconds (float) for new socket objects."""
    return _socket_type.default_timeout[0]


def setdefaulttimeout(timeout, /):
    """Set the default timeout in seconds (float) for new socket objects."""
    _socket_type.default_timeout[0] = _socket_type.timeout_of(timeout)


def _replace():
    functions = [getattr(_hosts, name) for name in HOST_FUNCTIONS]
    functions += [socketpair, close, dup, getdefaulttimeout, setdefaulttimeout, _ancillary.CMSG_LEN, _ancillary.CMSG_SPACE]
    for function in functions:
        function.__module__ = "_socket"
        setattr(_socket, function.__name__, function)
    _socket.socket = _socket.SocketType = socket_class
    old = dict(vars(socket))
    importlib.reload(socket)
    _rename(old, vars(socket))


def _rename(old, new):
    """Replaces the objects of the module `socket` that other modules have imported."""
    for name, module in list(sys.modules.items()):
        if module is socket or module is _socket or not isinstance(module, type(sys)):
            continue
        for key, value in list(vars(module).items()):
            if key in old and key in new and value is old[key] is not new[key] and not key.startswith("__"):
                setattr(module, key, new[key])


socket_class = _socket_type.socket
_replace()
