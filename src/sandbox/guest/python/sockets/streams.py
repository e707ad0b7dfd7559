"""Sockets of connections: streams, and Unix sockets that keep the borders of messages."""

import collections
import errno
import os

POLLIN, POLLOUT, POLLERR, POLLHUP = _endpoints.POLLIN, _endpoints.POLLOUT, _endpoints.POLLERR, _endpoints.POLLHUP
POLLRDHUP = 0x2000
MSG_PEEK, MSG_WAITALL = _endpoints.MSG_PEEK, _endpoints.MSG_WAITALL
SHUT_RD, SHUT_WR, SHUT_RDWR = range(3)
MAX_BACKLOG = 4096

NEW, CONNECTING, CONNECTED, CLOSED, LISTENING = "new", "connecting", "connected", "closed", "listening"


class Stream(_endpoints.Endpoint):
    """A socket of a connection, or one that listens for them."""

    __slots__ = ("state", "peer", "remote", "inbox", "rights", "taken", "put", "ended", "no_input", "no_output", "backlog", "queue", "pending", "is_new")

    def __init__(self, family, kind, proto):
        super().__init__(family, kind, proto)
        self.state, self.peer, self.remote = NEW, None, None
        self.inbox, self.rights, self.taken, self.put = bytearray(), None, 0, 0
        self.ended = self.no_input = self.no_output = self.is_new = False
        self.backlog, self.queue, self.pending = 0, None, None

    def v6_only(self):
        return self.family == _endpoints.AF_INET6 and bool(self.options.get((41, 26)))

    def is_listening(self):
        return self.state is LISTENING

    def events(self):
        """Returns what `poll` would report."""
        if self.state is LISTENING:
            return POLLIN if self.queue else 0
        found = POLLERR if self.error else 0
        if self.state is CONNECTING:
            return found
        if self.state is NEW:
            return found | POLLOUT | POLLHUP
        if self.inbox or self.ended or self.no_input or self.error:
            found |= POLLIN
        if self.ended or self.no_input:
            found |= POLLRDHUP
        if self.state is CLOSED or (self.ended or self.no_input) and self.no_output:
            found |= POLLHUP
        if self.no_output or self.error or self.state is CLOSED or self._has_room():
            found |= POLLOUT
        return found

    # Connections

    def listen(self, backlog):
        if self.state not in (NEW, LISTENING):
            raise _addresses.error(errno.EINVAL)
        if self.name is None and not self.is_inet():
            raise _addresses.error(errno.EINVAL)
        self.bind_somewhere()
        _endpoints.require_no_listener(self)
        if self.state is NEW:
            self.state, self.queue, self.pending = LISTENING, collections.deque(), collections.deque()
        self.backlog = min(backlog & 0xFFFFFFFF, MAX_BACKLOG)
        self.credentials = credentials()
        self._admit()

    def accept(self):
        """Returns the next connection, None if there is none yet."""
        if self.state is not LISTENING:
            raise _addresses.error(errno.EINVAL)
        if not self.queue:
            return None
        end = self.queue.popleft()
        self._admit()
        return end

    def connect(self, address):
        """Begins a connection. Returns True when it is established, None while it waits for room in a backlog."""
        self._require_unconnected()
        if self.is_inet() and not _addresses.is_local(address.ip):
            return _outside.connect(self, address)
        if self.is_inet():
            found = self._find_listener(address)
        else:
            found = _endpoints.socket_named(address, self.kind)
        if found is None or not found.is_listening():
            raise _addresses.error(errno.ECONNREFUSED)
        self.remote, self.credentials = address, found.credentials
        if self.is_inet():
            ip = _addresses.plain(address.ip)
            self.bind_somewhere(source_of(ip, self.family))
        if found.has_place():
            found.enqueue(self)
            return True
        self.state = CONNECTING
        found.pending.append(self)
        return None

    def begin_connect(self, address):
        """Connects without waiting: the program learns the result later."""
        if self.is_new and self.state is CONNECTED:
            self.is_new = False
            return
        if self.error:
            self.raise_error()
        try:
            self.connect(address)
        except ConnectionRefusedError as cause:
            self.error = cause.errno
        else:
            self.is_new = True
        raise _addresses.error(errno.EINPROGRESS)

    def give_up(self):
        """Ends an attempt to connect that must not wait."""
        self.state = NEW

    def is_connected(self):
        """Returns True when a connection that began is established, None while it is not. Raises its error."""
        if self.error:
            self.raise_error()
        return True if self.state is CONNECTED else None

    def _require_unconnected(self):
        if self.state is CONNECTING:
            raise _addresses.error(errno.EALREADY)
        if self.state is CONNECTED or self.state is CLOSED and self.ended:
            raise _addresses.error(errno.EISCONN)
        if self.state is LISTENING:
            raise _addresses.error(errno.EISCONN if self.is_inet() else errno.EINVAL)

    def _find_listener(self, address):
        if self.v6_only() and len(_addresses.plain(address.ip)) == 4:
            raise _addresses.error(errno.ENETUNREACH)
        ends = _endpoints.sockets_at(True, address)
        return next((end for end in ends if end.is_listening()), None)

    def has_place(self):
        return len(self.queue) <= self.backlog

    def enqueue(self, client):
        """Connects a socket that asks for it."""
        server = type(self)(self.family, self.kind, self.proto)
        server.options.update(self.options)
        server.name = client.remote if self.is_inet() else self.name
        server.remote = client.name
        server.credentials = credentials()
        join(client, server)
        self.queue.append(server)
        _procs.notify(self)
        _procs.notify(client)

    def _admit(self):
        while self.pending and self.has_place():
            client = self.pending.popleft()
            if client.state is CONNECTING:
                self.enqueue(client)

    # Data

    def take(self, size, flags):
        """Returns data with the address None and descriptors, or None if there are none yet."""
        if self.inbox:
            return self._take_data(size, flags)
        if self.error:
            self.raise_error()
        if self.ended or self.no_input or self.state is CLOSED:
            return b"", None, (), 0
        if self.state is not CONNECTED:
            raise _addresses.error(errno.ENOTCONN if self.is_inet() else errno.EINVAL)
        return None if size or not self.is_inet() else (b"", None, (), 0)

    def _take_data(self, size, flags):
        if flags & MSG_WAITALL and len(self.inbox) < size and not (self.ended or self.error or self.no_input):
            if self.rights is None and len(self.inbox) < _options.capacity(self.peer or self, self) // 2:
                return None
        given = ()
        if self.rights:
            size, given = self._next_rights(size, flags)
        data = bytes(memoryview(self.inbox)[:size])
        if not flags & MSG_PEEK:
            del self.inbox[: len(data)]
            self.taken += len(data)
            self._tell_room()
        return data, None, given, 0

    def _next_rights(self, size, flags):
        """Returns the descriptors that came with the next bytes, and how many bytes may be taken with them."""
        place, ends = self.rights[0]
        if place > self.taken:
            return min(size, place - self.taken), ()
        following = self.rights[1][0] - self.taken if len(self.rights) > 1 else size
        if flags & MSG_PEEK:
            for end in ends:
                end.uses += 1
        else:
            self.rights.popleft()
        return min(size, following), ends

    def send(self, view, address, rights):
        """Sends as much as there is room for. Returns the number of bytes, None if there is no room."""
        self._require_output(address)
        if not len(view):
            return 0
        peer = self.peer
        if peer is None:
            return self._send_to_nothing(len(view))
        room = _options.capacity(self, peer) - len(peer.inbox)
        if not self._has_room():
            return None
        piece = view[:room]
        if rights:
            peer.rights = collections.deque() if peer.rights is None else peer.rights
            peer.rights.append((peer.put, rights))
        peer.inbox += piece
        peer.put += len(piece)
        if peer.waiters:
            _procs.notify(peer)
        return len(piece)

    def _require_output(self, address):
        if address is not None and self.state is CONNECTED and not self.is_inet():
            raise _addresses.error(errno.EISCONN)
        if self.error:
            self.raise_error()
        if self.no_output or self.state is NEW and self.is_inet():
            raise _addresses.error(errno.EPIPE)
        if self.state not in (CONNECTED, CLOSED):
            raise _addresses.error(errno.ENOTCONN)

    def _send_to_nothing(self, size):
        """Sends to a socket that was closed: a stream of the network learns that from the first answer."""
        if not self.is_inet() or self.state is CLOSED:
            raise _addresses.error(errno.EPIPE)
        self.state, self.error = CLOSED, errno.EPIPE if self.ended else errno.ECONNRESET
        return size

    def _has_room(self):
        peer = self.peer
        if peer is None:
            return True
        limit = _options.capacity(self, peer)
        return 3 * len(peer.inbox) <= 2 * limit or peer.no_input and not self.is_inet()

    def _tell_room(self):
        peer = self.peer
        if peer is not None and peer.waiters and peer._has_room():
            _procs.notify(peer)

    # The end

    def shutdown(self, how):
        if how not in (SHUT_RD, SHUT_WR, SHUT_RDWR):
            raise _addresses.error(errno.EINVAL)
        if self.state is LISTENING and how != SHUT_WR:
            self.stop_listening()
            self.state = NEW
        elif self.state is NEW or self.state is CONNECTING:
            raise _addresses.error(errno.ENOTCONN)
        if how != SHUT_WR:
            self.no_input = True
            if self.peer is not None and not self.is_inet():
                self.peer.no_output = True
        if how != SHUT_RD and not self.no_output:
            self.no_output = True
            if self.peer is not None:
                self.peer.ended = True
        for end in (self, self.peer):
            if end is not None:
                _procs.notify(end)

    def stop_listening(self):
        for client in self.pending:
            client.refuse()
        for end in self.queue:
            end.release_reset()
        self.queue = self.pending = None

    def refuse(self):
        if self.state is CONNECTING:
            self.state, self.error = NEW, errno.ECONNREFUSED
            _procs.notify(self)

    def release_reset(self):
        """Closes a connection that was never accepted."""
        peer = self.peer
        self.release()
        if peer is not None and self.is_inet():
            peer.reset()

    def reset(self):
        """Ends the connection with an error."""
        self.peer, self.state = None, CLOSED
        self.error = errno.EPIPE if self.ended and self.no_output else errno.ECONNRESET
        _procs.notify(self)

    def disconnect(self):
        """Closes the connection, when no descriptor refers to the socket any more."""
        if self.state is LISTENING:
            self.stop_listening()
        for _, ends in self.rights or ():
            for end in ends:
                end.release()
        peer, self.peer = self.peer, None
        unread = bool(self.inbox)
        self.state, self.inbox, self.rights = CLOSED, bytearray(), None
        if peer is None:
            return
        peer.peer = None
        if unread or _options.lingers_not(self) and self.is_inet():
            if self.is_inet():
                peer.reset()
                return
            peer.error = errno.ECONNRESET
        peer.ended = True
        if not self.is_inet():
            peer.no_output = True
        _procs.notify(peer)

    def remote_address(self):
        if self.state is not CONNECTED and not (self.state is CLOSED and self.error):
            raise _addresses.error(errno.ENOTCONN)
        if not self.is_inet():
            return _addresses.unix_text(self.remote or b"")
        return self.remote.for_family(self.family)


def join(one, other):
    """Connects two sockets."""
    for end, peer in ((one, other), (other, one)):
        end.peer, end.state = peer, CONNECTED


def credentials():
    """Returns the process, the user and the group of the running program, as SO_PEERCRED has them."""
    return _procs.getpid(), os.getuid(), os.getgid()


def source_of(ip, family):
    """Returns the address that a socket sends from, for the plain one that it sends to."""
    if len(ip) == 4:
        own = _addresses.LOCAL4 if _addresses.is_any(ip) else ip
        return own if family != _endpoints.AF_INET6 else _addresses.MAPPED + own
    return _addresses.LOCAL6
