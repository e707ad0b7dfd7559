"""Open sockets: what they share, and the tables of their addresses. All of it is in the session's own memory."""

import errno
import itertools
import select

AF_UNIX, AF_INET6 = 1, 10
SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET = 1, 2, 5
POLLIN, POLLOUT, POLLERR, POLLHUP = select.POLLIN, select.POLLOUT, select.POLLERR, select.POLLHUP
FIRST_EPHEMERAL, LAST_EPHEMERAL = 32768, 60999

MSG_PEEK, MSG_WAITALL, MSG_DONTWAIT, MSG_TRUNC, MSG_CTRUNC = 0x2, 0x100, 0x40, 0x20, 0x8
MSG_IGNORED = 0x4000 | 0x8000 | 0x80 | 0x8 | 0x40000000
"""NOSIGNAL, MORE, EOR, CTRUNC and CMSG_CLOEXEC, which change nothing here."""

_by_port = {}
"""The sockets that have a port, by whether they are streams, and the port."""

_by_name = {}
"""The sockets that have a Unix name, by its key."""

_ephemeral = itertools.count()
_unnamed = itertools.count(1)
_open = [0]


class Endpoint:
    """An open socket. Several descriptors may refer to it."""

    __slots__ = ("family", "kind", "proto", "uses", "waiters", "name", "key", "error", "blocking", "options", "credentials", "changes")
    reads = writes = None

    def __init__(self, family, kind, proto):
        self.family, self.kind, self.proto, self.uses = family, kind, proto, 1
        self.waiters, self.name, self.key, self.error, self.blocking = [], None, None, 0, True
        self.options = _options.defaults(family, kind)
        self.credentials, self.changes = None, 0
        _open[0] += 1
        _bridge.count_sockets(_open[0])

    @property
    def waited(self):
        """The objects that notify when this socket changes."""
        return (self,)

    def notify(self):
        """Wakes the threads that wait for this socket."""
        self.changes += 1
        if self.waiters:
            _procs.notify(self)

    def mark(self):
        """Returns a value that differs after a change, even if the events are the same."""
        return self.changes

    def has(self, option):
        return bool(self.options.get((1, option)))

    def is_inet(self):
        return self.family != AF_UNIX

    def take_error(self):
        number, self.error = self.error, 0
        return number

    def raise_error(self):
        """Raises the error that arrived since the last call."""
        if self.error:
            raise _addresses.error(self.take_error())

    def is_readable(self):
        return bool(self.events() & (POLLIN | POLLHUP | POLLERR))

    def is_writable(self):
        return bool(self.events() & (POLLOUT | POLLERR))

    def read(self, size):
        """Reads for `os.read`."""
        return self.receive(size, 0)[0]

    def write(self, data):
        """Writes for `os.write`."""
        view = memoryview(data).cast("B")
        return self.complete(lambda: self.send(view, None, ()), None)

    def receive(self, size, flags, timeout=None):
        """Waits for data. Returns them, the sender's address, and the descriptors that came with them."""
        return self.complete(lambda: self.take(size, flags), timeout, flags, "data in a socket")

    def complete(self, attempt, timeout, flags=0, what="room in a socket", objects=None):
        """Calls `attempt` until it returns something. Raises BlockingIOError if the socket must not wait for that."""
        result = attempt()
        if result is not None:
            return result
        if timeout == 0 or flags & MSG_DONTWAIT or timeout is None and not self.blocking:
            raise _addresses.error(errno.EAGAIN)
        self.uses += 1  # a call that waits keeps the socket open
        try:
            deadline = _locks.deadline_of(timeout)
            found = _procs.wait_until(lambda: as_found(attempt()), objects or [self], what, deadline)
        finally:
            self.release()
        if not found:
            raise TimeoutError("timed out")
        return found[0]

    def release(self):
        self.uses -= 1
        if self.uses:
            return
        _forget(self)
        self.disconnect()
        _open[0] -= 1
        _bridge.count_sockets(_open[0])
        self.notify()

    def local_address(self):
        if not self.is_inet():
            return _addresses.unix_text(self.name or b"")
        return (self.name or _addresses.Inet(_any_of(self), 0)).for_family(self.family)

    def bind(self, address):
        """Gives the socket an address."""
        if self.key is not None or self.name is not None:
            raise _addresses.error(errno.EINVAL)
        if self.is_inet():
            _bind_port(self, address)
        else:
            _bind_name(self, address)

    def bind_somewhere(self, ip=None):
        """Gives the socket a port, if it has none."""
        if self.name is None and self.is_inet():
            _bind_port(self, _addresses.Inet(_any_of(self) if ip is None else ip, 0))


def as_found(result):
    """Returns a true value for a result that may be false."""
    return None if result is None else (result,)


def _any_of(end):
    return _addresses.ANY6 if end.family == AF_INET6 else _addresses.ANY4


def _is_stream(end):
    return end.kind != SOCK_DGRAM


def _bind_port(end, address):
    if not _addresses.is_local(address.ip):
        raise _addresses.error(errno.EADDRNOTAVAIL)
    port = address.port or _free_port(end, address)
    if _conflicts(end, address.ip, port):
        raise _addresses.error(errno.EADDRINUSE)
    end.name = _addresses.Inet(address.ip, port, address.flow, address.scope)
    end.key = _is_stream(end), port
    _by_port.setdefault(end.key, []).append(end)


def _free_port(end, address):
    """Returns the next port that no socket has. Ports come in order, so that programs run the same again."""
    count = LAST_EPHEMERAL - FIRST_EPHEMERAL + 1
    for _ in range(count):
        port = FIRST_EPHEMERAL + next(_ephemeral) % count
        if (_is_stream(end), port) not in _by_port:
            return port
    raise _addresses.error(errno.EADDRINUSE)


def _conflicts(end, ip, port):
    others = _by_port.get((_is_stream(end), port), ())
    return any(_overlap(end, ip, other) and not _may_share(end, other) for other in others if other is not end)


def _overlap(end, ip, other):
    """True if an address of one socket and that of another have an address in common."""
    first, second = _addresses.plain(ip), _addresses.plain(other.name.ip)
    if first == second:
        return True
    for any_ip, owner, ip in ((first, end, second), (second, other, first)):
        if _addresses.is_any(any_ip) and (len(any_ip) == len(ip) or len(any_ip) == 16 and not owner.v6_only()):
            return True
    return False


def _may_share(end, other):
    if end.has(_options.SO_REUSEPORT) and other.has(_options.SO_REUSEPORT):
        return True
    return end.has(_options.SO_REUSEADDR) and other.has(_options.SO_REUSEADDR) and not other.is_listening()


def require_no_listener(end):
    """Raises the error of a second listener at an address."""
    others = _by_port.get(end.key, ()) if end.is_inet() else ()
    for other in others:
        both = end.has(_options.SO_REUSEPORT) and other.has(_options.SO_REUSEPORT)
        if other is not end and other.is_listening() and not both and _overlap(end, end.name.ip, other):
            raise _addresses.error(errno.EADDRINUSE)


def sockets_at(is_stream, address):
    """Returns the sockets that an address reaches, those with exactly this address first."""
    ip = _addresses.plain(address.ip)
    if _addresses.is_any(ip):
        ip = _addresses.LOCAL4 if len(ip) == 4 else _addresses.LOCAL6
    exact, general = [], []
    for end in _by_port.get((is_stream, address.port), ()):
        own = _addresses.plain(end.name.ip)
        if own == ip:
            exact.append(end)
        elif _addresses.is_any(own) and (len(own) == len(ip) or len(own) == 16 and not end.v6_only()):
            general.append(end)
    return exact + general


def _bind_name(end, name):
    if not name:
        name = b"\0%05x" % next(_unnamed)
    if name[:1] != b"\0":
        key = _addresses.create_node(name)
    elif name in _by_name:
        raise _addresses.error(errno.EADDRINUSE)
    else:
        key = name
    end.name, end.key = name, key
    _by_name[key] = end


def socket_named(name, kind):
    """Returns the socket with a Unix name."""
    end = _by_name.get(_addresses.key_of(name))
    if end is None:
        raise _addresses.error(errno.ECONNREFUSED)
    if end.kind != kind:
        raise _addresses.error(errno.EPROTOTYPE)
    return end


def _forget(end):
    """Frees the address of a socket."""
    if not end.is_inet():
        if _by_name.get(end.key) is end:
            del _by_name[end.key]
    elif end.key is not None:
        _by_port[end.key].remove(end)
        if not _by_port[end.key]:
            del _by_port[end.key]
