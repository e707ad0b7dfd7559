"""Sockets of type SOCK_STREAM: bytes, and the descriptors that travel with them."""

import collections
import errno

POLLIN, POLLOUT, POLLERR, POLLHUP = _endpoints.POLLIN, _endpoints.POLLOUT, _endpoints.POLLERR, _endpoints.POLLHUP
POLLRDHUP = 0x2000
MSG_PEEK, MSG_WAITALL = _endpoints.MSG_PEEK, _endpoints.MSG_WAITALL
NEW, CONNECTING, CONNECTED, CLOSED, LISTENING = (
    _connections.NEW, _connections.CONNECTING, _connections.CONNECTED, _connections.CLOSED, _connections.LISTENING
)


class Stream(_connections.Connection):
    """A socket of type SOCK_STREAM."""

    __slots__ = ("taken", "put")

    def __init__(self, family, kind, proto):
        super().__init__(family, kind, proto)
        self.taken = self.put = 0

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
        peer.notify()
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
        if peer is None:
            return
        peer.changes += 1
        if peer.waiters and peer._has_room():
            peer.notify()
