"""Sockets of messages: datagrams of IPv4, IPv6 and Unix, and connected Unix sockets that keep the borders of messages."""

import collections
import errno

POLLIN, POLLOUT, POLLERR, POLLHUP = _endpoints.POLLIN, _endpoints.POLLOUT, _endpoints.POLLERR, _endpoints.POLLHUP
MSG_PEEK, MSG_TRUNC = _endpoints.MSG_PEEK, _endpoints.MSG_TRUNC
MAX_DATAGRAM, OVERHEAD = 65507, 768
"""Largest datagram of the network, and the memory that each message counts beside its bytes."""

Stream = _streams.Stream


class Messages:
    """Messages on their way to a socket."""

    __slots__ = ("items", "bytes")

    def __init__(self):
        self.items, self.bytes = collections.deque(), 0

    def __len__(self):
        return self.bytes

    def add(self, data, address, rights):
        self.items.append((data, address, rights))
        self.bytes += len(data) + OVERHEAD

    def take(self, size, flags):
        """Returns the start of the first message, its sender, its descriptors and flags."""
        data, address, rights = self.items[0]
        if flags & MSG_PEEK:
            for end in rights:
                end.uses += 1
        else:
            self.items.popleft()
            self.bytes -= len(data) + OVERHEAD
        cut = MSG_TRUNC if len(data) > size else 0
        return data[:size], address, rights, cut

    def drop(self):
        for _, _, rights in self.items:
            for end in rights:
                end.release()
        self.items.clear()
        self.bytes = 0


class Packets(Stream):
    """A socket of type SOCK_SEQPACKET."""

    __slots__ = ()

    def __init__(self, family, kind, proto):
        super().__init__(family, kind, proto)
        self.inbox = Messages()

    def _take_data(self, size, flags):
        found = self.inbox.take(size, flags)
        self._tell_room()
        return found

    def take(self, size, flags):
        return super().take(size or 1, flags) if not self.inbox else self._take_data(size, flags)

    def send(self, view, address, rights):
        self._require_output(address)
        peer = self.peer
        if peer is None:
            raise _addresses.error(errno.EPIPE)
        if len(view) > _options.capacity(self, peer):
            raise _addresses.error(errno.EMSGSIZE)
        if not self._has_room():
            return None
        peer.inbox.add(bytes(view), None, rights)
        peer.notify()
        return len(view)

    def disconnect(self):
        inbox = self.inbox
        super().disconnect()
        if isinstance(inbox, Messages):
            inbox.drop()


class Datagrams(_endpoints.Endpoint):
    """A socket of type SOCK_DGRAM."""

    __slots__ = ("remote", "peer", "inbox", "no_input", "no_output")

    def __init__(self, family, kind, proto):
        super().__init__(family, kind, proto)
        self.remote, self.peer, self.inbox = None, None, Messages()
        self.no_input = self.no_output = False

    def v6_only(self):
        return self.family == _endpoints.AF_INET6 and bool(self.options.get((41, 26)))

    def is_listening(self):
        return False

    def events(self):
        found = POLLERR | POLLIN if self.error else 0
        if self.inbox or self.no_input:
            found |= POLLIN
        if self.no_input and self.no_output:
            found |= POLLHUP
        peer = self.peer
        if peer is None or self.is_inet() or self.no_output or peer.has_room():
            found |= POLLOUT
        return found

    @property
    def waited(self):
        return (self,) if self.peer is None else (self, self.peer)

    def mark(self):
        return self.changes, self.peer and self.peer.changes

    def listen(self, backlog):
        raise _addresses.error(errno.EOPNOTSUPP)

    def accept(self):
        raise _addresses.error(errno.EOPNOTSUPP)

    def connect(self, address):
        """Sets the address to send to, and the only one to receive from. None dissolves that."""
        if address is None:
            self.remote = self.peer = None
            return True
        if self.is_inet():
            if not _addresses.is_local(address.ip):
                _addresses.refuse_network(self.family, self.kind)
            if _addresses.is_any(_addresses.plain(address.ip)):
                ip = _addresses.LOCAL4 if len(address.ip) == 4 else _addresses.LOCAL6
                address = _addresses.Inet(ip, address.port, address.flow, address.scope)
            self._settle(_connections.source_of(_addresses.plain(address.ip), self.family))
        else:
            self.peer = _endpoints.socket_named(address, self.kind)
        self.remote = address
        return True

    def _settle(self, ip):
        """Gives the socket a port, and the address that it sends from in place of all."""
        self.bind_somewhere(ip)
        if _addresses.is_any(self.name.ip):
            self.name = _addresses.Inet(ip, self.name.port)

    def is_connected(self):
        return True

    def take(self, size, flags):
        if self.error:
            self.raise_error()
        if self.inbox:
            found = self.inbox.take(size, flags)
            self.notify()
            return self._with_address(found)
        return (b"", None, (), 0) if self.no_input else None

    def _with_address(self, found):
        data, sender, rights, cut = found
        if self.is_inet():
            return data, sender.for_family(self.family), rights, cut
        return data, _addresses.unix_text(sender) if sender else None, rights, cut

    def send(self, view, address, rights):
        if self.no_output:
            raise _addresses.error(errno.EPIPE)
        if self.error:
            self.raise_error()
        return self._send_inet(view, address) if self.is_inet() else self._send_unix(view, address, rights)

    def _send_inet(self, view, address):
        target = self.remote if address is None else address
        if target is None:
            raise _addresses.error(errno.EDESTADDRREQ)
        if not _addresses.is_local(target.ip):
            _addresses.refuse_network(self.family, self.kind)
        if len(view) > MAX_DATAGRAM:
            raise _addresses.error(errno.EMSGSIZE)
        if target.port == 0:
            raise _addresses.error(errno.EINVAL)
        self.bind_somewhere()
        source = self.name
        if _addresses.is_any(source.ip):
            source = _addresses.Inet(_connections.source_of(_addresses.plain(target.ip), self.family), source.port)
        receiver = next((end for end in reversed(_endpoints.sockets_at(False, target)) if end.accepts(source)), None)
        if receiver is None:
            if self.remote is not None:
                self.error = errno.ECONNREFUSED
        elif receiver.has_room():  # what finds no room is lost
            receiver.put(bytes(view), source, ())
        return len(view)

    def _send_unix(self, view, address, rights):
        receiver = self.peer if address is None else _endpoints.socket_named(address, self.kind)
        if receiver is None:
            raise _addresses.error(errno.ENOTCONN if self.remote is None else errno.ECONNREFUSED)
        if receiver.uses <= 0 or receiver.no_input:
            raise _addresses.error(errno.EPIPE if receiver.uses > 0 else errno.ECONNREFUSED)
        if len(view) > self.options[1, _options.SO_SNDBUF]:
            raise _addresses.error(errno.EMSGSIZE)
        if not receiver.accepts_name(self):
            raise _addresses.error(errno.EPERM)
        if not receiver.has_room():
            return None
        receiver.put(bytes(view), self.name, rights)
        return len(view)

    def accepts(self, source):
        """True if datagrams from an address are for this socket."""
        if self.remote is None:
            return True
        return _addresses.plain(self.remote.ip) == _addresses.plain(source.ip) and self.remote.port == source.port

    def accepts_name(self, sender):
        return self.peer is None or self.peer is sender

    def has_room(self):
        return len(self.inbox) <= self.options[1, _options.SO_RCVBUF]

    def put(self, data, sender, rights):
        if not self.no_input:
            self.inbox.add(data, sender, rights)
            self.notify()

    def shutdown(self, how):
        if how not in (0, 1, 2):
            raise _addresses.error(errno.EINVAL)
        if self.remote is None and self.peer is None:
            raise _addresses.error(errno.ENOTCONN)
        self.no_input = self.no_input or how != _connections.SHUT_WR
        self.no_output = self.no_output or how != _connections.SHUT_RD
        self.notify()

    def disconnect(self):
        self.inbox.drop()
        self.peer = None

    def remote_address(self):
        if self.is_inet():
            if self.remote is None:
                raise _addresses.error(errno.ENOTCONN)
            return self.remote.for_family(self.family)
        if self.peer is None:
            raise _addresses.error(errno.ENOTCONN)
        return _addresses.unix_text(self.peer.name or b"")


def create(family, kind, proto):
    """Returns a new socket of a family and a type."""
    made = {1: Stream, 2: Datagrams, 5: Packets}.get(kind)
    if family not in (1, 2, 10):
        raise _addresses.error(errno.EAFNOSUPPORT)
    if kind == 3:
        _addresses.refuse_network(family, kind)
    if made is None or kind == 5 and family != 1:
        raise _addresses.error(errno.EINVAL if made is None and kind not in (4, 6, 10) else errno.ESOCKTNOSUPPORT)
    protocols = (0,) if family == 1 else (0, 6) if kind == 1 else (0, 17)
    if proto not in protocols:
        raise _addresses.error(errno.EPROTONOSUPPORT)
    return made(family, kind, 0 if family == 1 else protocols[-1])


def pair(family, kind, proto):
    """Returns two connected Unix sockets."""
    if family != 1:
        raise _addresses.error(errno.EOPNOTSUPP if family in (2, 10) else errno.EAFNOSUPPORT)
    one, other = create(family, kind, proto), create(family, kind, proto)
    if kind == 2:
        one.peer, other.peer = other, one
    else:
        _connections.join(one, other)
    one.credentials = other.credentials = _connections.credentials()
    return one, other
