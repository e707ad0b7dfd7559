"""Addresses of sockets: checks what a program passes, and finds which addresses reach only the session itself."""

import _socket
import errno
import os
import stat

ANY4, ANY6, LOCAL4, LOCAL6 = bytes(4), bytes(16), b"\x7f\0\0\1", bytes(15) + b"\1"
MAPPED = b"\0" * 10 + b"\xff\xff"
MAX_UNIX_PATH = 108
AF_UNIX, AF_INET, AF_INET6 = 1, _socket.AF_INET, _socket.AF_INET6
DIGITS = frozenset("0123456789")

_stat, _fsencode, _fsdecode = os.stat, os.fsencode, os.fsdecode
_c_socket, _c_getaddrinfo, _c_ntop = _socket.socket, _socket.getaddrinfo, _socket.inet_ntop
_gaierror = _socket.gaierror


class Inet:
    """An address of IPv4 or IPv6: the packed IP address, the port, and two fields of IPv6."""

    __slots__ = ("ip", "port", "flow", "scope")

    def __init__(self, ip, port, flow=0, scope=0):
        self.ip, self.port, self.flow, self.scope = ip, port, flow, scope

    def for_family(self, family):
        """Returns the tuple that programs see in a socket of a family."""
        if family == AF_INET:
            return text_of(plain(self.ip)), self.port
        ip = self.ip if len(self.ip) == 16 else MAPPED + self.ip
        return text_of(ip), self.port, self.flow, self.scope


def error(number):
    """Returns the exception of an error number."""
    return OSError(number, os.strerror(number))


def refuse_network(family, kind):
    """Raises the error of the network, which the sandbox counts as a denied attempt."""
    _c_socket(AF_INET6 if family == AF_INET6 else AF_INET, kind).close()
    raise error(errno.EACCES)


def count_denial(family, kind):
    """Counts a denied attempt at the network."""
    try:
        _c_socket(AF_INET6 if family == AF_INET6 else AF_INET, kind).close()
    except OSError:
        pass  # the refusal is what is counted


def refuse_name(host):
    """Raises the error of a name that does not resolve, which the sandbox counts as a denied attempt."""
    _c_getaddrinfo(host, None)
    raise _gaierror(_socket.EAI_NONAME, "Name or service not known")


def plain(ip):
    """Returns the IPv4 address that an IPv6 address contains, or the address itself."""
    return ip[12:] if len(ip) == 16 and ip.startswith(MAPPED) else ip


def is_any(ip):
    return not any(ip)


def is_local(ip):
    """True if an address reaches the session itself."""
    ip = plain(ip)
    return ip[0] == 127 or is_any(ip) if len(ip) == 4 else ip in (ANY6, LOCAL6)


def text_of(ip):
    """Returns an address as text."""
    if len(ip) == 4:
        return "%d.%d.%d.%d" % tuple(ip)
    if ip in (ANY6, LOCAL6):
        return "::" if ip == ANY6 else "::1"
    return _hosts.inet_ntop(AF_INET6, ip)


def parse_ip(text):
    """Returns the packed address of a numeric text, None if it is none."""
    if ":" in text:
        address = text.partition("%")[0]
        if address in ("::", "::1"):
            return ANY6 if address == "::" else LOCAL6
        try:
            return _hosts.inet_pton(AF_INET6, address)
        except OSError:
            return None
    parts = text.split(".")
    if len(parts) == 4 and all(part and DIGITS.issuperset(part) and len(part) < 4 and int(part) < 256 for part in parts):
        return bytes(map(int, parts))
    if text and text[0] in DIGITS:
        try:
            return _socket.inet_aton(text)
        except OSError:
            return None
    return None


def host_text(host):
    """Returns the name of a host as text."""
    if isinstance(host, str):
        text = host if host.isascii() else host.encode("idna").decode()
    elif isinstance(host, (bytes, bytearray)):
        text = bytes(host).decode("latin-1")
    else:
        raise TypeError(f"str, bytes or bytearray expected, not {type(host).__name__}")
    if "\0" in text:
        raise ValueError("host name must not contain null character")
    return text


def find_host(host, family):
    """Returns the packed address of a host, as calls with an address find it."""
    text = host_text(host)
    if text == "":
        return ANY6 if family == AF_INET6 else ANY4
    if text in ("<broadcast>", "255.255.255.255"):
        if family != AF_INET:
            raise OSError("address family mismatched")
        return b"\xff" * 4
    ip = parse_ip(text)
    if ip is not None:
        if len(ip) != (16 if family == AF_INET6 else 4):
            raise _gaierror(_socket.EAI_ADDRFAMILY, "Address family for hostname not supported")
        return ip
    return _hosts.local_addresses(text, family)[0]


def parse(family, address, caller):
    """Returns the address that a program passes, in the form of this module: an `Inet`, or bytes of a Unix name."""
    if family == AF_UNIX:
        return _parse_unix(address)
    name, form = ("AF_INET", "a pair (host, port)") if family == AF_INET else ("AF_INET6", "a tuple")
    if not isinstance(address, tuple):
        raise TypeError(f"{caller}(): {name} address must be tuple, not {type(address).__name__}")
    if not 2 <= len(address) <= (2 if family == AF_INET else 4):
        raise TypeError(f"{caller}(): wrong format for {name} address: expected {form}")
    port = _index(address[1])
    ip = find_host(address[0], family)
    if not 0 <= port <= 0xFFFF:
        raise OverflowError(f"{caller}(): port must be 0-65535.")
    flow, scope = ([*map(_index, address[2:])] + [0, 0])[:2]
    if not 0 <= flow <= 0xFFFFF:
        raise OverflowError(f"{caller}(): flowinfo must be 0-1048575.")
    return Inet(ip, port, flow, scope)


def _index(value):
    if not hasattr(value, "__index__"):
        raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
    return value.__index__()


def _parse_unix(address):
    if isinstance(address, str):
        name = _fsencode(address)
    elif isinstance(address, (bytes, bytearray, memoryview)):
        name = bytes(address)
    else:
        raise TypeError(f"a bytes-like object is required, not '{type(address).__name__}'")
    if len(name) > MAX_UNIX_PATH or len(name) == MAX_UNIX_PATH and name[0]:
        raise OSError("AF_UNIX path too long")
    return name if name[:1] == b"\0" else name.partition(b"\0")[0]


def unix_text(name):
    """Returns the name of a Unix socket as programs see it."""
    if not name:
        return ""
    return name if name[0] == 0 else _fsdecode(name)


def create_node(name):
    """Creates the file of a Unix socket. Returns its key."""
    try:
        _bridge.create_socket_file(name)
    except FileExistsError:
        raise error(errno.EADDRINUSE) from None
    except OSError as cause:
        raise error(cause.errno) from None
    return key_of(name)


def key_of(name):
    """Returns the key of a Unix socket: its abstract name, or the inode of its file."""
    if name[:1] == b"\0":
        return name
    try:
        status = _stat(name)
    except OSError as cause:
        raise error(cause.errno) from None
    if not stat.S_ISSOCK(status.st_mode):
        raise error(errno.ECONNREFUSED)
    return status.st_dev, status.st_ino
