"""Functions of `socket` that need no network, and that C code of the sandbox lacks or answers wrongly."""

import _socket
import socket

AF_INET6 = _socket.AF_INET6
MAPPED_WORDS, COMPATIBLE_BYTES = b"\0" * 10 + b"\xff\xff", 12
NOT_FOUND = 1, "Unknown host"
LOCAL = {"localhost", "127.0.0.1", "::1", "ip6-localhost"}

_inet_pton, _inet_ntop = _socket.inet_pton, _socket.inet_ntop
_herror = _socket.herror


def inet_pton(address_family, ip_string, /):
    """Convert an IP address from string format to a packed string suitable for use with low-level network functions."""
    if address_family != AF_INET6:
        return _inet_pton(address_family, ip_string)
    if not isinstance(ip_string, str):
        raise TypeError(f"inet_pton() argument 2 must be str, not {type(ip_string).__name__}")
    import ipaddress

    try:
        if "%" in ip_string or "/" in ip_string:
            raise ValueError
        return ipaddress.IPv6Address(ip_string).packed
    except ValueError:
        raise OSError("illegal IP address string passed to inet_pton") from None


def inet_ntop(address_family, packed_ip, /):
    """Convert a packed IP address of the given family to string format."""
    if address_family != AF_INET6:
        return _inet_ntop(address_family, packed_ip)
    packed = bytes(packed_ip)
    if len(packed) != 16:
        raise ValueError("invalid length of packed IP address string")
    head, tail = packed[:COMPATIBLE_BYTES], packed[COMPATIBLE_BYTES:]
    dotted = ".".join(map(str, tail))
    if head == MAPPED_WORDS:
        return f"::ffff:{dotted}"
    if not any(head) and any(tail[:2]):
        return f"::{dotted}"
    import ipaddress

    return str(ipaddress.IPv6Address(packed))


def gethostbyaddr(host, /):
    """Return the true host name, a list of aliases, and a list of IP addresses, for a host."""
    if host in LOCAL:
        return "localhost", [], ["127.0.0.1" if host != "::1" else host]
    raise _herror(*NOT_FOUND)


def gethostbyname(host, /):
    """Return the IP address (a string of the form '255.255.255.255') for a host."""
    return "127.0.0.1" if host in ("localhost", "") else _gethostbyname(host)


def gethostbyname_ex(host, /):
    """Return the true host name, a list of aliases, and a list of IP addresses, for a host."""
    return host or "localhost", [], [gethostbyname(host)]


_gethostbyname = _socket.gethostbyname
for _function in (inet_pton, inet_ntop, gethostbyaddr, gethostbyname, gethostbyname_ex):
    _function.__module__ = "_socket"
    for _module in (_socket, socket):
        setattr(_module, _function.__name__, _function)
