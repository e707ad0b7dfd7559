"""Methods of the type `_socket.socket` that receive and send."""

import errno
import sys

MAX_VECTORS = 1024

_audit = sys.audit
_end_of, _integer, _bytes_of = _checks.end_of, _checks.integer, _checks.bytes_of


class socket:
    def recv(self, buffersize, flags=0, /):
        """Receive up to buffersize bytes from the socket."""
        size = _checks.size_of(buffersize, "recv")
        return self._receive(size, flags)[0]

    def _receive(self, size, flags):
        data, address, rights, cut = _end_of(self._fd).receive(size, _checks.require_flags(flags), self._timeout)
        for end in rights:
            end.release()
        return data, address, cut

    def recvfrom(self, buffersize, flags=0, /):
        """Like recv(buffersize, flags) but also return the sender's address info."""
        size = _checks.size_of(buffersize, "recvfrom")
        return self._receive(size, flags)[:2]

    def recv_into(self, buffer, nbytes=0, flags=0):
        """A version of recv() that stores its data into a buffer rather than creating a new string."""
        return self._receive_into(buffer, nbytes, flags, "recv_into")[0]

    def recvfrom_into(self, buffer, nbytes=0, flags=0):
        """Like recv_into(buffer[, nbytes[, flags]]) but also return the sender's address info."""
        return self._receive_into(buffer, nbytes, flags, "recvfrom_into")

    def _receive_into(self, buffer, nbytes, flags, name):
        view = _checks.writable(buffer, name)
        size = _checks.size_of(nbytes, name)
        if size > len(view):
            raise ValueError("buffer too small for requested bytes" if name == "recv_into" else "nbytes is greater than the length of the buffer")
        data, address, _ = self._receive(size or len(view), flags)
        view[: len(data)] = data
        return len(data), address

    def recvmsg(self, bufsize, ancbufsize=0, flags=0, /):
        """Receive normal data (up to bufsize bytes) and ancillary data from the socket."""
        size, space = _integer(bufsize), _integer(ancbufsize)
        if size < 0:
            raise ValueError("negative buffer size in recvmsg()")
        return self._receive_message(size, space, flags)

    def _receive_message(self, size, space, flags):
        if not 0 <= space <= _checks.MAX_INT - 16:
            raise ValueError("invalid ancillary data buffer length")
        end = _end_of(self._fd)
        data, address, rights, cut = end.receive(size, _checks.require_flags(flags), self._timeout)
        ancillary, more = _ancillary.deliver(rights, space)
        return data, ancillary, cut | more, address

    def recvmsg_into(self, buffers, ancbufsize=0, flags=0, /):
        """Receive normal data and ancillary data from the socket, scattering the former into a series of buffers."""
        try:
            views = [_checks.writable(each, "recvmsg_into") for each in buffers]
        except TypeError:
            if not hasattr(buffers, "__iter__"):
                raise TypeError("recvmsg_into() argument 1 must be an iterable") from None
            raise
        if len(views) > MAX_VECTORS:
            raise _addresses.error(errno.EMSGSIZE)
        data, *rest = self._receive_message(sum(map(len, views)), _integer(ancbufsize), flags)
        at = 0
        for view in views:
            piece = data[at : at + len(view)]
            view[: len(piece)] = piece
            at += len(piece)
        return len(data), *rest

    def send(self, data, flags=0, /):
        """Send a data string to the socket.  For the optional flags argument, see the Unix manual."""
        view = _bytes_of(data)
        return self._send(view, flags, None, ())

    def _send(self, view, flags, address, rights):
        end = _end_of(self._fd)
        objects = [*end.waited]
        if address is not None and not end.is_inet() and end.kind == 2:
            objects.append(_endpoints.socket_named(address, 2))
        flags = _checks.require_flags(flags)
        return end.complete(lambda: end.send(view, address, rights), self._timeout, flags, objects=objects)

    def sendall(self, data, flags=0, /):
        """Send a data string to the socket. This calls send() repeatedly until all data is sent."""
        view = _bytes_of(data)
        end, deadline = _end_of(self._fd), _locks.deadline_of(self._timeout)
        at = 0
        while True:
            left = self._timeout if not self._timeout or not at else max(deadline - _locks._monotonic(), 1e-9)
            at += end.complete(lambda: end.send(view[at:], None, ()), left, _checks.require_flags(flags))
            if at >= len(view):
                return None

    def sendto(self, data, *args):
        """Like send(data, flags) but allows specifying the destination address."""
        if not 1 <= len(args) <= 2:
            raise TypeError(f"sendto() takes 2 or 3 arguments ({len(args) + 1} given)")
        view = _bytes_of(data)
        flags = _integer(args[0]) if len(args) == 2 else 0
        parsed = _addresses.parse(self._family, args[-1], "sendto")
        _audit("socket.sendto", self, args[-1])
        return self._send(view, flags, parsed, ())

    def sendmsg(self, buffers, ancdata=(), flags=0, address=None, /):
        """Send normal and ancillary data to the socket, gathering the former from a series of buffers."""
        if not hasattr(buffers, "__iter__"):
            raise TypeError("sendmsg() argument 1 must be iterable")
        views = [_bytes_of(each) for each in list(buffers)]
        items = _ancillary.parse(ancdata)
        if len(views) > MAX_VECTORS:
            raise _addresses.error(errno.EMSGSIZE)
        parsed = None if address is None else _addresses.parse(self._family, address, "sendmsg")
        end = _end_of(self._fd)
        rights = _ancillary.rights_of(end, items)
        data = views[0] if len(views) == 1 else memoryview(b"".join(views))
        try:
            return self._send(data, flags, parsed, rights)
        except BaseException:
            for each in rights:
                each.release()
            raise
