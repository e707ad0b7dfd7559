"""
Replaces the contents of the modules `_socket` and `select`. What does the work is in late modules: most programs use no
socket. The library's code of sockets runs again on top.
"""

import _socket
import ast
import asyncio
import gc
import importlib
import os
import select
import selectors
import socket as library
import ssl
import sys
import types

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

EVENTS = {
    "EPOLL_CLOEXEC": 0x80000,
    "EPOLLIN": 0x1,
    "EPOLLPRI": 0x2,
    "EPOLLOUT": 0x4,
    "EPOLLERR": 0x8,
    "EPOLLHUP": 0x10,
    "EPOLLRDNORM": 0x40,
    "EPOLLRDBAND": 0x80,
    "EPOLLWRNORM": 0x100,
    "EPOLLWRBAND": 0x200,
    "EPOLLMSG": 0x400,
    "EPOLLRDHUP": 0x2000,
    "EPOLLEXCLUSIVE": 1 << 28,
    "EPOLLWAKEUP": 1 << 29,
    "EPOLLONESHOT": 1 << 30,
    "EPOLLET": 1 << 31,
    "POLLRDHUP": 0x2000,
}
"""Numbers of Linux that Emscripten's `select` lacks."""

WITHOUT_EFFECT = ("IPV6_RECV", "IPV6_HOPLIMIT", "IPV6_PKTINFO", "IPV6_NEXTHOP", "IPV6_PATHMTU", "IP_RECV", "IP_PKTINFO")
"""Beginnings of the names of options by which a message would tell how it came: programs look whether there are any."""

FUNCTIONS = {
    "hosts": (
        "inet_pton inet_ntop getaddrinfo getnameinfo gethostbyaddr gethostbyname gethostbyname_ex getservbyname "
        "getservbyport if_nameindex if_nametoindex if_indextoname sethostname"
    ),
    "ancillary": "CMSG_LEN CMSG_SPACE",
    "socket_type": "socketpair close dup getdefaulttimeout setdefaulttimeout",
}
"""Functions of `_socket`, by the late module that has them."""

METHODS = (
    "__init__ __repr__ _accept _adopt _connect _receive _receive_into _receive_message _send bind close connect connect_ex "
    "detach family fileno getblocking getpeername getsockname getsockopt gettimeout listen proto recv recv_into recvfrom "
    "recvfrom_into recvmsg recvmsg_into send sendall sendmsg sendto setblocking setsockopt settimeout shutdown timeout type"
).split()
EPOLL_METHODS = "__enter__ __exit__ __init__ _open_end close closed fileno fromfd modify poll register unregister".split()

TLS_CLASSES = ("SSLObject", "SSLSocket")
CONTEXT_ATTRIBUTES = ("set_alpn_protocols", "sslobject_class", "sslsocket_class", "wrap_bio", "wrap_socket")

originals = types.SimpleNamespace(
    **{name: getattr(_socket, name) for name in ("socket", "getaddrinfo", "inet_ntop", "inet_pton")},
    **{name: getattr(os, name) for name in ("stat", "fsencode", "fsdecode")},
    select=select.select,
    poll=select.poll,
)
"""Functions that the late modules call, as a program may have replaced others when they are executed."""


class socket:
    """A socket of the session: its addresses are those of the session itself."""

    __slots__ = ("_fd", "_family", "_type", "_proto", "_timeout")

    def __new__(cls, *args, **kwargs):
        self = object.__new__(cls)
        self._fd = -1
        self._family = self._type = self._proto = 0
        self._timeout = None
        return self


class epoll:
    """Waits for events of descriptors, as the kernel's object with this name does."""

    __slots__ = ("_end", "_fd")

    def __new__(cls, *args, **kwargs):
        self = object.__new__(cls)
        self._end = None
        self._fd = -1
        return self


def _replace():
    for owner, names in FUNCTIONS.items():
        module = {"hosts": _hosts, "ancillary": _ancillary, "socket_type": _socket_type}[owner]
        for name in names.split():
            _add_function(_socket, name, module)
    vars(_socket).update(NAMES)
    for module in (_socket, library):
        for name in [name for name in vars(module) if name.startswith(WITHOUT_EFFECT)]:
            delattr(module, name)
    socket.__module__ = "_socket"
    _socket.socket = _socket.SocketType = socket
    _late_modules.add_late_attributes(socket, _socket_type, METHODS)
    for name in ("socket", "ssl"):
        if name in sys.modules:
            _import_again(sys.modules[name])


def _replace_select():
    _add_function(select, "select", _polling, "wait_for_files")
    _add_function(select, "poll", _polling, "make_poll")
    vars(select).update(EVENTS, epoll=epoll)
    epoll.__module__ = "select"
    _late_modules.add_late_attributes(epoll, _epoll, EPOLL_METHODS)
    selectors.SelectSelector._select = staticmethod(select.select)
    selectors.PollSelector._selector_cls = staticmethod(select.poll)
    _define_where("hasattr(select, 'epoll')", selectors)
    selectors.DefaultSelector = selectors.EpollSelector


def _add_function(module, name, late_module, target=None):
    original = getattr(module, name, None)
    function = _late_modules.late_function(late_module, target or name)
    function.__name__ = function.__qualname__ = name
    function.__module__, function.__doc__ = module.__name__, getattr(original, "__doc__", None)
    setattr(module, name, function)


def _import_again(module):
    """Runs the code of a module again, and replaces its old objects in what has imported them."""
    old = dict(vars(module))
    new = vars(importlib.reload(module))
    changed = {id(value): new[key] for key, value in old.items() if key in new and new[key] is not value and key[:2] != "__"}
    for name, other in list(sys.modules.items()):
        if other is module or other is _socket or not isinstance(other, type(sys)):
            continue
        for key, value in list(vars(other).items()):
            if id(value) in changed and old.get(key) is value:
                setattr(other, key, changed[id(value)])
    own = {key: value for key, value in changed.items() if type(value).__module__ == module.__name__}
    for function in gc.get_objects():
        if type(function) is types.FunctionType:
            _replace_defaults(function, own)


def _replace_defaults(function, changed):
    """Replaces constants of an old module, such as of `socket.AddressFamily`, in the signature of a function."""
    if any(id(value) in changed for value in function.__defaults__ or ()):
        function.__defaults__ = tuple(changed.get(id(value), value) for value in function.__defaults__)
    if any(id(value) in changed for value in (function.__kwdefaults__ or {}).values()):
        function.__kwdefaults__ = {key: changed.get(id(value), value) for key, value in function.__kwdefaults__.items()}


def _define_where(condition, module):
    """Defines what a module of the library has where a condition is true. Pyodide imports it before it is."""
    test = ast.dump(ast.parse(condition, mode="eval").body)
    tree = ast.parse(module.__loader__.get_source(module.__name__))
    tree.body = [node for node in tree.body if isinstance(node, ast.If) and ast.dump(node.test) == test]
    exec(compile(tree, module.__file__, "exec", dont_inherit=True), vars(module))


def _replace_tls():
    """Lets `ssl` have TLS of the sandbox: its classes, which are made when a program first uses one, and its context."""
    for name in TLS_CLASSES:
        delattr(ssl, name)
    ssl.__getattr__ = _tls_class
    ssl.HAS_NEVER_CHECK_COMMON_NAME = True
    _late_modules.add_late_attributes(ssl.SSLContext, _tls, CONTEXT_ATTRIBUTES)


def _tls_class(name):
    if name not in TLS_CLASSES:
        raise AttributeError(f"module 'ssl' has no attribute {name!r}")
    return getattr(_tls, name)


def _add_unix_streams():
    _define_where("hasattr(socket, 'AF_UNIX')", asyncio.streams)
    for name in ("open_unix_connection", "start_unix_server"):
        setattr(asyncio, name, getattr(asyncio.streams, name))
        asyncio.__all__ += (name,)


_replace()
_replace_select()
_replace_tls()
_add_unix_streams()
_late_modules.enable_late_attributes()
