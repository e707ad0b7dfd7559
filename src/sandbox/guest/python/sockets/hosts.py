"""Names of hosts and services. Those of the session itself resolve; any other is a denied attempt at the network."""

import _socket
import os

AF_UNSPEC, AF_INET, AF_INET6 = 0, _socket.AF_INET, _socket.AF_INET6
SOCK_STREAM, SOCK_DGRAM, SOCK_RAW = 1, 2, 3
TCP, UDP = 6, 17
COMPATIBLE_BYTES = 12
HOST_NOT_FOUND, SERVICE_MAX = (1, "Unknown host"), 0xFFFF
AI_PASSIVE, AI_CANONNAME, AI_NUMERICHOST, AI_NUMERICSERV = (
    getattr(_socket, name) for name in ("AI_PASSIVE", "AI_CANONNAME", "AI_NUMERICHOST", "AI_NUMERICSERV")
)
AI_FLAGS = AI_PASSIVE | AI_CANONNAME | AI_NUMERICHOST | AI_NUMERICSERV | 0x38
NI_NUMERICHOST, NI_NUMERICSERV, NI_NAMEREQD, NI_DGRAM = (
    getattr(_socket, name) for name in ("NI_NUMERICHOST", "NI_NUMERICSERV", "NI_NAMEREQD", "NI_DGRAM")
)
EAI_TEXTS = {
    "EAI_BADFLAGS": "Bad value for ai_flags",
    "EAI_NONAME": "Name or service not known",
    "EAI_FAMILY": "ai_family not supported",
    "EAI_SOCKTYPE": "ai_socktype not supported",
    "EAI_SERVICE": "Servname not supported for ai_socktype",
    "EAI_ADDRFAMILY": "Address family for hostname not supported",
}
INTERFACE = "lo"
BOTH = (SOCK_STREAM, TCP), (SOCK_DGRAM, UDP)
KINDS = (*BOTH, (SOCK_RAW, 0))
SERVICES = {
    "echo": 7, "discard": 9, "systat": 11, "daytime": 13, "netstat": 15, "qotd": 17, "chargen": 19, "ftp-data": 20,
    "ftp": 21, "ssh": 22, "telnet": 23, "smtp": 25, "time": 37, "whois": 43, "domain": 53, "tftp": 69, "gopher": 70,
    "finger": 79, "http": 80, "kerberos": 88, "pop3": 110, "sunrpc": 111, "auth": 113, "nntp": 119, "ntp": 123,
    "imap2": 143, "snmp": 161, "snmp-trap": 162, "bgp": 179, "irc": 194, "ldap": 389, "https": 443, "submissions": 465,
    "syslog": 514, "submission": 587, "ldaps": 636, "ftps": 990, "imaps": 993, "pop3s": 995, "socks": 1080,
    "openvpn": 1194, "mysql": 3306, "svn": 3690, "postgresql": 5432, "amqp": 5672, "http-alt": 8080,
}  # fmt: skip
"""Ports of services by their names, as the file of services of Linux has them."""
OF_TCP = frozenset("systat netstat qotd ftp-data ftp ssh telnet smtp whois gopher finger http pop3 nntp imap2 bgp imaps pop3s submissions submission ftps".split())
OF_UDP = frozenset(("tftp", "ntp", "syslog", "snmp-trap"))
ALIASES = {"www": "http", "mail": "smtp", "imap": "imap2", "ident": "auth", "pop-3": "pop3", "ssmtp": "submissions", "postgres": "postgresql", "nameserver": "domain"}
NAMES = {port: name for name, port in SERVICES.items()}

_inet_pton, _inet_ntop = _socket.inet_pton, _socket.inet_ntop
_herror, _gaierror = _socket.herror, _socket.gaierror
_gethostname = _socket.gethostname


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
    if head == _addresses.MAPPED:
        return f"::ffff:{dotted}"
    if not any(head) and any(tail[:2]):
        return f"::{dotted}"
    import ipaddress

    return str(ipaddress.IPv6Address(packed))


def _eai(name):
    return _gaierror(getattr(_socket, name), EAI_TEXTS[name])


def local_addresses(text, family):
    """Returns the packed addresses of a name of the session. Any other name is a denied attempt."""
    name = text.lower().removesuffix(".")
    if name in ("ip6-localhost", "ip6-loopback"):
        found = [_addresses.LOCAL6]
    elif name in ("localhost", "localhost.localdomain", _gethostname()):
        found = [_addresses.LOCAL4, _addresses.LOCAL6]
    else:
        found = [_outside.find_host(text)]
    size = {AF_INET: 4, AF_INET6: 16}.get(family)
    found = [ip for ip in found if size in (None, len(ip))]
    if not found:
        raise _eai("EAI_ADDRFAMILY")
    return found


def getaddrinfo(host, port, family=0, type=0, proto=0, flags=0):
    """Resolve host and port into list of address info entries."""
    name, service = _host_name(host), _service_name(port)
    if family not in (AF_UNSPEC, AF_INET, AF_INET6):
        raise _eai("EAI_FAMILY")
    if flags & ~AI_FLAGS:
        raise _eai("EAI_BADFLAGS")
    if name is None and service is None:
        raise _eai("EAI_NONAME")
    if name is None and flags & AI_CANONNAME:
        raise _eai("EAI_BADFLAGS")
    kinds = _kinds_of(type, proto)
    ports = _ports_of(service, kinds, flags)
    canonical = ""
    result = []
    for ip in _ips_of(name, family, flags):
        of_family = AF_INET6 if len(ip) == 16 else AF_INET
        for (kind, protocol), number in ports.items():
            if flags & AI_CANONNAME and not result:
                canonical = name
            address = _addresses.Inet(ip, number, 0, _scope_of(name)).for_family(of_family)
            result.append((of_family, kind, protocol, canonical, address))
            canonical = ""
    return result


def _scope_of(name):
    """Returns the index of the interface that an IPv6 address names after `%`."""
    scope = (name or "").partition("%")[2]
    return int(scope) if scope.isdecimal() else int(scope == INTERFACE)


def _host_name(host):
    if host is None:
        return None
    if not isinstance(host, (str, bytes, bytearray)):
        raise TypeError("getaddrinfo() argument 1 must be string or None")
    text = host if isinstance(host, str) else bytes(host).decode("latin-1")
    return text.encode("idna").decode() if not text.isascii() else text or None


def _service_name(port):
    if port is None:
        return None
    if isinstance(port, bool) or not isinstance(port, (int, str, bytes)):
        if not hasattr(port, "__index__"):
            raise OSError("Int or String expected")
        port = port.__index__()
    if isinstance(port, int):
        if not -(2**63) <= port < 2**63:
            raise OverflowError("Python int too large to convert to C long")
        return str(port)
    return port.encode().decode() if isinstance(port, str) else port.decode("latin-1")


def _kinds_of(kind, proto):
    found = [each for each in KINDS if kind in (0, each[0]) and proto in (0, each[1]) or kind == SOCK_RAW == each[0]]
    if not found:
        raise _eai("EAI_SERVICE" if kind == 0 else "EAI_SOCKTYPE")
    return [(each, proto) if each == SOCK_RAW else (each, protocol) for each, protocol in found]


def _ports_of(service, kinds, flags):
    """Returns the port of a service for each kind that has it."""
    if not service:
        return dict.fromkeys(kinds, 0)
    digits = service.strip()
    if digits.removeprefix("-").isdecimal():
        return dict.fromkeys(kinds, int(digits) & SERVICE_MAX)
    if flags & AI_NUMERICSERV:
        raise _eai("EAI_NONAME")
    found = {}
    for kind in kinds:
        number = _port_of(service, {TCP: "tcp", UDP: "udp"}.get(kind[1]))
        if number is not None:
            found[kind] = number
    if not found:
        raise _eai("EAI_SERVICE")
    return found


def _ips_of(name, family, flags):
    if name is None:
        pair = [_addresses.ANY4, _addresses.ANY6] if flags & AI_PASSIVE else [_addresses.LOCAL4, _addresses.LOCAL6]
        return [ip for ip in pair if family in (0, AF_INET if len(ip) == 4 else AF_INET6)]
    ip = _addresses.parse_ip(name)
    if ip is not None:
        if family == (AF_INET6 if len(ip) == 4 else AF_INET):
            raise _eai("EAI_ADDRFAMILY")
        return [ip]
    if flags & AI_NUMERICHOST:
        raise _eai("EAI_NONAME")
    return local_addresses(name, family)


def _port_of(name, protocol):
    name = ALIASES.get(name, name)
    if protocol is None or name in OF_TCP and protocol != "tcp" or name in OF_UDP and protocol != "udp":
        return None
    return SERVICES.get(name)


def getnameinfo(sockaddr, flags, /):
    """Get host and port for a sockaddr."""
    if not isinstance(sockaddr, tuple):
        del sockaddr  # the traceback holds this frame
        raise TypeError("getnameinfo() argument 1 must be a tuple")
    if not 2 <= len(sockaddr) <= 4 or not isinstance(sockaddr[0], str):
        raise TypeError("getnameinfo(): illegal sockaddr argument")
    host, port = sockaddr[0], sockaddr[1].__index__()
    if len(sockaddr) > 2 and not 0 <= sockaddr[2] <= 0xFFFFF:
        raise OverflowError("getnameinfo(): flowinfo must be 0-1048575.")
    ip = _addresses.parse_ip(host)
    if ip is None:
        ip = local_addresses(host, AF_UNSPEC)[0]
    if len(ip) == 4 and len(sockaddr) != 2:
        raise OSError("IPv4 sockaddr must be 2 tuple")
    name = None if flags & NI_NUMERICHOST else _name_of(ip)
    if name is None:
        if flags & NI_NAMEREQD:
            raise _eai("EAI_NONAME")
        name = _addresses.text_of(ip)
        if sockaddr[3:] and sockaddr[3]:
            name += f"%{INTERFACE if sockaddr[3] == 1 else sockaddr[3]}"
    port &= SERVICE_MAX
    service = None if flags & NI_NUMERICSERV else _service_of(port, "udp" if flags & NI_DGRAM else "tcp")
    return name, service or str(port)


def _name_of(ip):
    return "localhost" if _addresses.plain(ip) in (_addresses.LOCAL4, _addresses.LOCAL6) else None


def _service_of(port, protocol):
    name = NAMES.get(port)
    return name if name and _port_of(name, protocol) is not None else None


def gethostbyaddr(host, /):
    """Return the true host name, a list of aliases, and a list of IP addresses, for a host."""
    text = _addresses.host_text(host)
    ip = _addresses.parse_ip(text)
    if ip is None:
        ip = local_addresses(text, AF_UNSPEC)[0]
    name = _name_of(ip)
    if name is None:
        raise _herror(*HOST_NOT_FOUND)
    return name, [], [_addresses.text_of(ip)]


def gethostbyname(host, /):
    """Return the IP address (a string of the form '255.255.255.255') for a host."""
    return _addresses.text_of(_addresses.find_host(host, AF_INET))


def gethostbyname_ex(host, /):
    """Return the true host name, a list of aliases, and a list of IP addresses, for a host."""
    return _addresses.host_text(host) or "localhost", [], [gethostbyname(host)]


def getservbyname(servicename, protocolname=None, /):
    """Return a port number from a service name and protocol name."""
    protocols = ("tcp", "udp") if protocolname is None else (protocolname,)
    for protocol in protocols:
        if protocol in ("tcp", "udp") and (port := _port_of(servicename, protocol)) is not None:
            return port
    raise OSError("service/proto not found")


def getservbyport(port, protocolname=None, /):
    """Return the service name from a port number and protocol name."""
    if not 0 <= port <= SERVICE_MAX:
        raise OverflowError("getservbyport: port must be 0-65535.")
    protocols = ("tcp", "udp") if protocolname is None else (protocolname,)
    for protocol in protocols:
        if protocol in ("tcp", "udp") and (name := _service_of(port, protocol)):
            return name
    raise OSError("port/proto not found")


def if_nameindex():
    """Returns a list of network interface information (index, name) tuples."""
    return [(1, INTERFACE)]


def if_nametoindex(name, /):
    """Returns the interface index corresponding to the interface name."""
    if os.fsdecode(name) != INTERFACE:
        raise OSError(19, "No such device")
    return 1


def if_indextoname(index, /):
    """Returns the interface name corresponding to the interface index."""
    if not hasattr(index, "__index__"):
        raise TypeError(f"'{type(index).__name__}' object cannot be interpreted as an integer")
    number = index.__index__()
    if number < 0:
        raise ValueError("index must not be negative")
    if number > 0xFFFFFFFF:
        raise OverflowError("Python int too large to convert to C unsigned int")
    if number != 1:
        raise OSError(6, "No such device or address")
    return INTERFACE


def sethostname(name, /):
    """Sets the hostname to name."""
    raise _addresses.error(1)
