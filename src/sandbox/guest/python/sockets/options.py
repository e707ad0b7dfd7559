"""Options of sockets, with the numbers of Linux. An option that changes nothing here can be set and read."""

import errno
import struct

SOL_SOCKET, IPPROTO_IP, IPPROTO_TCP, IPPROTO_IPV6 = 1, 0, 6, 41
SO_REUSEADDR, SO_TYPE, SO_ERROR, SO_BROADCAST, SO_SNDBUF, SO_RCVBUF, SO_KEEPALIVE = 2, 3, 4, 6, 7, 8, 9
SO_LINGER, SO_REUSEPORT, SO_PEERCRED, SO_ACCEPTCONN, SO_PROTOCOL, SO_DOMAIN = 13, 15, 17, 30, 38, 39
IPV6_V6ONLY, TCP_NODELAY, TCP_MAXSEG = 26, 1, 2
AF_UNIX, AF_INET6, SOCK_STREAM = 1, 10, 1

MAX_BUFFER, MIN_SEND, MIN_RECEIVE = 212992, 4608, 2304
"""Bounds of the sizes of buffers that programs can set. Linux doubles what is set."""

FLAGS = {
    (SOL_SOCKET, SO_REUSEADDR): 0,
    (SOL_SOCKET, SO_REUSEPORT): 0,
    (SOL_SOCKET, SO_KEEPALIVE): 0,
    (SOL_SOCKET, SO_BROADCAST): 0,
    (SOL_SOCKET, 5): 0,  # SO_DONTROUTE
    (SOL_SOCKET, 10): 0,  # SO_OOBINLINE
}
IPV4_VALUES = {(IPPROTO_IP, 1): 0, (IPPROTO_IP, 2): 64}  # IP_TOS, IP_TTL
IPV6_VALUES = {
    (IPPROTO_IPV6, IPV6_V6ONLY): 0,
    (IPPROTO_IPV6, 16): 64,  # IPV6_UNICAST_HOPS
    (IPPROTO_IPV6, 67): 0,  # IPV6_TCLASS
}
TCP_VALUES = {
    (IPPROTO_TCP, TCP_NODELAY): 0,
    (IPPROTO_TCP, 3): 0,  # TCP_CORK
    (IPPROTO_TCP, 4): 7200,  # TCP_KEEPIDLE
    (IPPROTO_TCP, 5): 75,  # TCP_KEEPINTVL
    (IPPROTO_TCP, 6): 9,  # TCP_KEEPCNT
    (IPPROTO_TCP, 12): 1,  # TCP_QUICKACK
    (IPPROTO_TCP, 18): 0,  # TCP_USER_TIMEOUT
}
NO_LINGER = struct.pack("ii", 0, 0)
MAX_BYTES = 1024


def defaults(family, kind):
    """Returns the options of a new socket."""
    is_tcp = family != AF_UNIX and kind == SOCK_STREAM
    values = {(SOL_SOCKET, SO_SNDBUF): 16384 if is_tcp else MAX_BUFFER, (SOL_SOCKET, SO_RCVBUF): 131072 if is_tcp else MAX_BUFFER}
    return values


def _known(end):
    """Returns the options that a socket has beside those of its buffers, with their first values."""
    values = dict(FLAGS)
    if end.family == AF_UNIX:
        return values
    values.update(IPV4_VALUES)
    if end.family == AF_INET6:
        values.update(IPV6_VALUES)
    if end.kind == SOCK_STREAM:
        values.update(TCP_VALUES)
    return values


def get(end, level, option):
    """Returns the value of an option: a number, or bytes."""
    key = level, option
    if level == SOL_SOCKET:
        if option == SO_ERROR:
            return end.take_error()
        if option == SO_LINGER:
            return end.options.get(key, NO_LINGER)
        if option == SO_PEERCRED:
            return struct.pack("iII", *(end.credentials or (0, 0xFFFFFFFF, 0xFFFFFFFF)))
        fixed = {SO_TYPE: end.kind, SO_ACCEPTCONN: int(end.is_listening()), SO_PROTOCOL: end.proto, SO_DOMAIN: end.family}
        if option in fixed:
            return fixed[option]
    if key == (IPPROTO_TCP, TCP_MAXSEG) and end.family != AF_UNIX and end.kind == SOCK_STREAM:
        return end.options.get(key, 536)
    if key in end.options:
        return end.options[key]
    known = _known(end)
    if key not in known:
        raise _addresses.error(errno.ENOPROTOOPT)
    return known[key]


def set_value(end, level, option, value):
    """Sets an option to a number or to bytes."""
    key = level, option
    if key == (SOL_SOCKET, SO_LINGER):
        if isinstance(value, int) or len(value) < len(NO_LINGER):
            raise _addresses.error(errno.EINVAL)
        end.options[key] = bytes(value[: len(NO_LINGER)])
        return
    if isinstance(value, bytes):
        if len(value) < 4:
            raise _addresses.error(errno.EINVAL)
        value = int.from_bytes(value[:4], "little", signed=True)
    if key in ((SOL_SOCKET, SO_SNDBUF), (SOL_SOCKET, SO_RCVBUF)):
        smallest = MIN_SEND if option == SO_SNDBUF else MIN_RECEIVE
        end.options[key] = max(2 * min(max(value, 0), MAX_BUFFER), smallest)
    elif key == (IPPROTO_TCP, TCP_MAXSEG) and end.family != AF_UNIX and end.kind == SOCK_STREAM:
        end.options[key] = value
    elif key not in _known(end):
        raise _addresses.error(errno.ENOPROTOOPT)
    elif key == (IPPROTO_IPV6, IPV6_V6ONLY) and end.name is not None:
        raise _addresses.error(errno.EINVAL)
    else:
        end.options[key] = int(value != 0) if key in FLAGS or key == (IPPROTO_IPV6, IPV6_V6ONLY) else value


def lingers_not(end):
    """True if a close must reset the connection."""
    return end.options.get((SOL_SOCKET, SO_LINGER)) == struct.pack("ii", 1, 0)


def capacity(sender, receiver):
    """Returns how many bytes may be on their way from one socket to another."""
    return sender.options[SOL_SOCKET, SO_SNDBUF] + receiver.options[SOL_SOCKET, SO_RCVBUF]
