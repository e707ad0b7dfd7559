"""Connections: how sockets listen, connect and end."""

import collections
import errno
import os

SHUT_RD, SHUT_WR, SHUT_RDWR = range(3)
MAX_BACKLOG = 4096

NEW, CONNECTING, CONNECTED, CLOSED, LISTENING = "new", "connecting", "connected", "closed", "listening"


class Connection(_endpoints.Endpoint):
    """A socket of a connection, or one that listens for them. `inbox` has what was sent to the socket."""

    __slots__ = ("state", "peer", "remote", "inbox", "rights", "ended", "no_input", "no_output", "backlog", "queue", "pending", "is_new")

    def __init__(self, family, kind, proto):
        super().__init__(family, kind, proto)
        self.state, self.peer, self.remote = NEW, None, None
        self.inbox, self.rights = bytearray(), None
        self.ended = self.no_input = self.no_output = self.is_new = False
        self.backlog, self.queue, self.pending = 0, None, None

    def v6_only(self):
        return self.family == _endpoints.AF_INET6 and bool(self.options.get((41, 26)))

    def is_listening(self):
        return self.state is LISTENING

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
        self.notify()
        client.notify()

    def _admit(self):
        while self.pending and self.has_place():
            client = self.pending.popleft()
            if client.state is CONNECTING:
                self.enqueue(client)

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
                end.notify()

    def stop_listening(self):
        for client in self.pending:
            client.refuse()
        for end in self.queue:
            end.release_reset()
        self.queue = self.pending = None

    def refuse(self):
        if self.state is CONNECTING:
            self.state, self.error = NEW, errno.ECONNREFUSED
            self.notify()

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
        self.notify()

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
        peer.notify()

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
