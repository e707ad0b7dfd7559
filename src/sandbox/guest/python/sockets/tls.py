"""
TLS of connections to the outside, for the module `ssl`. The broker of the host speaks TLS and checks the certificate for
the name of the connection. A handshake is a request among the bytes of the connection; all other bytes here are plain.
"""

import socket
import ssl

_plain = socket.socket


class SSLObject(_handshake.Secured):
    """A connection of TLS over two memory buffers. Instances are returned by SSLContext.wrap_bio()."""

    def __init__(self, *args, **kwargs):
        raise TypeError(
            f"{type(self).__name__} does not have a public constructor. Instances are returned by SSLContext.wrap_bio()."
        )

    @classmethod
    def _create(cls, incoming, outgoing, server_side=False, server_hostname=None, session=None, context=None):
        _handshake.require_possible(context, server_side, server_hostname)
        self = cls.__new__(cls)
        self._incoming, self._outgoing = incoming, outgoing
        self._handshake = _handshake.Handshake(context, server_hostname)
        return self

    def do_handshake(self):
        """Start the SSL/TLS handshake."""
        handshake = self._handshake
        if not handshake.is_sent:
            handshake.is_sent = True
            self._outgoing.write(handshake.request())
        while handshake.result is None:
            data = self._incoming.read(handshake.missing())
            if not data:
                raise _handshake.ended() if self._incoming.eof else _handshake.wants_read()
            handshake.add(data)

    def read(self, len=1024, buffer=None):
        """Read up to 'len' bytes from the SSL object and return them."""
        self._handshake.require_done()
        data = self._incoming.read(len)
        if not data and len and not self._incoming.eof:
            raise _handshake.wants_read()
        if buffer is None:
            return data
        count = memoryview(data).nbytes
        memoryview(buffer).cast("B")[:count] = data
        return count

    def write(self, data):
        """Write 'data' to the SSL object and return the number of bytes written."""
        self._handshake.require_done()
        return self._outgoing.write(bytes(data))

    def pending(self):
        """Return the number of bytes that can be read immediately."""
        return self._incoming.pending

    def unwrap(self):
        """Ends the use of TLS. The end of the connection ends it for the server."""


class SSLSocket(_handshake.Secured, socket.socket):
    """A socket with TLS. Instances are returned by SSLContext.wrap_socket()."""

    def __init__(self, *args, **kwargs):
        raise TypeError(
            f"{type(self).__name__} does not have a public constructor. Instances are returned by SSLContext.wrap_socket()."
        )

    @classmethod
    def _create(
        cls,
        sock,
        server_side=False,
        do_handshake_on_connect=True,
        suppress_ragged_eofs=True,
        server_hostname=None,
        context=None,
        session=None,
    ):
        if sock.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE) != socket.SOCK_STREAM:
            raise NotImplementedError("only stream sockets are supported")
        _handshake.require_possible(context, server_side, server_hostname)
        timeout = sock.gettimeout()
        self = cls.__new__(cls)
        _plain.__init__(self, sock.family, sock.type, sock.proto, sock.fileno())
        sock.detach()
        self.settimeout(timeout)
        self._handshake = _handshake.Handshake(context, context._encode_hostname(server_hostname))
        self.do_handshake_on_connect, self.suppress_ragged_eofs = do_handshake_on_connect, suppress_ragged_eofs
        try:
            self._begin_if_connected()
        except BaseException:
            self.close()
            raise
        return self

    @property
    def _sslobj(self):
        """The object with the methods of TLS, for libraries that look for it. None before the handshake."""
        return None if self._handshake.result is None else self

    def _begin_if_connected(self):
        try:
            self.getpeername()
        except OSError:
            return
        if self.do_handshake_on_connect:
            if self.gettimeout() == 0.0:
                raise ValueError("do_handshake_on_connect should not be specified for non-blocking sockets")
            self.do_handshake()

    def do_handshake(self, block=False):
        """Start the SSL/TLS handshake."""
        handshake = self._handshake
        if not isinstance(_checks.end_of(self.fileno()), _outside.Outside):
            raise _handshake.error("TLS is only for hosts that 'network' of the profile lists")
        if not handshake.is_sent:
            handshake.is_sent = True
            _plain.sendall(self, handshake.request())
        while handshake.result is None:
            data = self._wanted(_plain.recv, handshake.missing())
            if not data:
                raise _handshake.ended()
            handshake.add(data)

    def _wanted(self, call, *args):
        """Calls a method of the plain socket. If the socket must not wait, the error is the one of TLS."""
        try:
            return call(self, *args)
        except BlockingIOError:
            raise _handshake.wants_read() from None

    def connect(self, address):
        """Connects, and begins TLS."""
        super().connect(address)
        if self.do_handshake_on_connect:
            self.do_handshake()

    def connect_ex(self, address):
        """Connects, and begins TLS. Returns the number of an error."""
        number = super().connect_ex(address)
        if not number and self.do_handshake_on_connect:
            self.do_handshake()
        return number

    def accept(self):
        raise _handshake.error("the sandbox has no TLS for servers")

    def dup(self):
        raise NotImplementedError(f"Can't dup() {type(self).__name__} instances")

    def read(self, len=1024, buffer=None):
        """Read up to LEN bytes and return them."""
        return self.recv(len) if buffer is None else self.recv_into(buffer, len)

    def write(self, data):
        """Write DATA to the underlying SSL channel. Returns number of bytes of DATA actually transmitted."""
        return self.send(data)

    def recv(self, buflen=1024, flags=0):
        _require_no_flags(flags, "recv")
        return self._wanted(_plain.recv, buflen)

    def recv_into(self, buffer, nbytes=None, flags=0):
        _require_no_flags(flags, "recv_into")
        return self._wanted(_plain.recv_into, buffer, nbytes or 0)

    def send(self, data, flags=0):
        _require_no_flags(flags, "send")
        return self._wanted(_plain.send, data)

    def sendall(self, data, flags=0):
        _require_no_flags(flags, "sendall")
        return self._wanted(_plain.sendall, data)

    def sendfile(self, file, offset=0, count=None):
        return self._sendfile_use_send(file, offset, count)

    def pending(self):
        """Return the number of bytes that can be read immediately."""
        return len(_checks.end_of(self.fileno()).inbox)

    def unwrap(self):
        raise _handshake.error("TLS cannot end before its connection in the sandbox")

    def _not_allowed(self, *args, **kwargs):
        raise NotImplementedError(f"not allowed on instances of {type(self)}")

    sendmsg = recvmsg = recvmsg_into = sendto = recvfrom = recvfrom_into = _not_allowed


def _require_no_flags(flags, name):
    if flags:
        raise ValueError(f"non-zero flags not allowed in calls to {name}() on {SSLSocket}")


class SSLContext:
    """Attributes of `ssl.SSLContext`."""

    sslobject_class, sslsocket_class = SSLObject, SSLSocket

    def wrap_socket(
        self,
        sock,
        server_side=False,
        do_handshake_on_connect=True,
        suppress_ragged_eofs=True,
        server_hostname=None,
        session=None,
    ):
        handshake = {"do_handshake_on_connect": do_handshake_on_connect, "suppress_ragged_eofs": suppress_ragged_eofs}
        return self.sslsocket_class._create(
            sock, server_side=server_side, server_hostname=server_hostname, session=session, context=self, **handshake
        )

    def wrap_bio(self, incoming, outgoing, server_side=False, server_hostname=None, session=None):
        hostname = self._encode_hostname(server_hostname)
        return self.sslobject_class._create(
            incoming, outgoing, server_side=server_side, server_hostname=hostname, session=session, context=self
        )

    def set_alpn_protocols(self, alpn_protocols):
        protocols = tuple(alpn_protocols)
        for protocol in protocols:
            if not 0 < len(bytes(protocol, "ascii")) < 256:
                raise ssl.SSLError("ALPN protocols must be 1 to 255 in length")
        self._alpn_protocols = protocols


for _class in (SSLObject, SSLSocket):
    _class.__module__ = "ssl"
    setattr(ssl, _class.__name__, _class)
_late_modules.fill(ssl.SSLContext, SSLContext)
