"""Replaces the contents of the module `_socket`, and imports `socket` again, whose class derives from it."""

import _socket
import ast
import asyncio
import importlib
import socket
import sys

NAMES = {
    "AF_UNIX": 1,
    "SOCK_NONBLOCK": 0x800,
    "SOCK_CLOEXEC": 0x80000,
    "SO_REUSEADDR": 2,
    "SO_REUSEPORT": 15,
    "SO_PEERCRED": 17,
    "SO_PROTOCOL": 38,
    "SO_DOMAIN": 39,
    "MSG_CMSG_CLOEXEC": 0x40000000,
    "SCM_RIGHTS": 1,
    "SOMAXCONN": 4096,
    "has_ipv6": True,
}
"""Numbers of Linux that Emscripten's `_socket` lacks, or has others for."""

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
    vars(_socket).update(NAMES)
    _socket.socket = _socket.SocketType = socket_class
    for name in ("socket", "ssl"):
        if name in sys.modules:
            _import_again(sys.modules[name])


def _import_again(module):
    """Runs the code of a module again, and replaces its old objects in the modules that have imported them."""
    old = dict(vars(module))
    new = vars(importlib.reload(module))
    changed = {id(value): new[key] for key, value in old.items() if key in new and new[key] is not value and key[:2] != "__"}
    for name, other in list(sys.modules.items()):
        if other is module or other is _socket or not isinstance(other, type(sys)):
            continue
        for key, value in list(vars(other).items()):
            if id(value) in changed and old.get(key) is value:
                setattr(other, key, changed[id(value)])


def _add_unix_streams():
    """Defines what `asyncio.streams` has where there are Unix sockets. Pyodide imports it before there are any."""
    module = asyncio.streams
    tree = ast.parse(module.__loader__.get_source(module.__name__))
    tree.body = [node for node in tree.body if isinstance(node, ast.If)]
    exec(compile(tree, module.__file__, "exec", dont_inherit=True), vars(module))
    for name in ("open_unix_connection", "start_unix_server"):
        setattr(asyncio, name, getattr(module, name))
        asyncio.__all__ += (name,)


socket_class = _socket_type.socket
_replace()
_add_unix_streams()
