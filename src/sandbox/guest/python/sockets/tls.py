"""
TLS of connections to the outside, for the module `ssl`. The broker of the host speaks TLS and checks the certificate for
the name of the connection. A handshake is a request among the bytes of the connection; all other bytes here are plain.
"""

import json
import socket
import ssl
import struct

HEAD_BYTES = len(_outside.REPLY) + 2

_plain = socket.socket
_dumps, _loads = json.JSONEncoder().encode, json.JSONDecoder().decode


def _require_possible(context, server_side, hostname):
    """Raises the error of a handshake that the broker does not make."""
    if server_side:
        raise _error("the sandbox has no TLS for servers")
    if context.verify_mode == ssl.CERT_NONE:
        raise _error("certificates are always checked in the sandbox: verify_mode must not be CERT_NONE")
    if getattr(context, "_certfile_data", None) is not None:
        raise _error("the sandbox has no certificates of clients")
    if hostname is None:
        if context.check_hostname:
            raise ValueError("check_hostname requires server_hostname")
    elif not hostname or hostname.startswith("."):
        raise ValueError("server_hostname cannot be an empty string or start with a leading dot.")


def _error(text):
    return ssl.SSLError(ssl.SSL_ERROR_SSL, f"[SSL] {text}")


def _wants_read():
    return ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "The operation did not complete (read)")


def _ended():
    return ssl.SSLEOFError(ssl.SSL_ERROR_EOF, "EOF occurred in violation of protocol")


class _Handshake:
    """A handshake: the request, and its result as it arrives."""

    __slots__ = ("context", "hostname", "reply", "result", "is_sent")

    def __init__(self, context, hostname):
        self.context, self.hostname = context, hostname
        self.reply, self.result, self.is_sent = b"", None, False

    def request(self):
        name = self.hostname
        return _outside.HELLO + _dumps({"hostname": name and name.lower().removesuffix(".")}).encode()

    def missing(self):
        """Returns how many bytes of the result are known to be missing."""
        if len(self.reply) < HEAD_BYTES:
            return HEAD_BYTES - len(self.reply)
        return HEAD_BYTES + struct.unpack_from("<H", self.reply, HEAD_BYTES - 2)[0] - len(self.reply)

    def add(self, data):
        """Adds bytes of the result. Raises the error of a handshake that failed."""
        self.reply += data
        if len(self.reply) >= HEAD_BYTES and not self.reply.startswith(_outside.REPLY):
            raise _error("wrong version number: the server is not one of the profile's network, or does not speak TLS")
        if self.missing():
            return
        result = _loads(self.reply[HEAD_BYTES:].decode())
        if "error" in result:
            raise _refusal(result)
        self.result = result

    def require_done(self):
        if self.result is None:
            raise ValueError("handshake not done yet")

    def protocol(self):
        found = (self.result or {}).get("alpn")
        return found if found in getattr(self.context, "_alpn_protocols", ()) else None

    def certificate(self, binary_form):
        self.require_done()
        if binary_form:
            raise _error("the bytes of a certificate are not known in the sandbox")
        name = self.result["host"]
        return {"subject": ((("commonName", name),),), "subjectAltName": (("DNS", name),)}


def _refusal(result):
    if not result.get("isCertificate"):
        return _error(result["error"])
    text = f"certificate verify failed: {result['error']}"
    error = ssl.SSLCertVerificationError(ssl.SSL_ERROR_SSL, f"[SSL: CERTIFICATE_VERIFY_FAILED] {text}")
    error.verify_code, error.verify_message = 1, result["error"]
    return error


class _Secured:
    """What SSLObject and SSLSocket share."""

    @property
    def context(self):
        """The SSLContext that is currently in use."""
        return self._handshake.context

    @property
    def server_hostname(self):
        """The name of the server, None if there is none."""
        return self._handshake.hostname

    server_side = session_reused = False
    session = None

    def getpeercert(self, binary_form=False):
        """Returns the name for which the certificate was checked, in the form of a certificate."""
        return self._handshake.certificate(binary_form)

    def selected_alpn_protocol(self):
        """Return the currently selected ALPN protocol."""
        return self._handshake.protocol()

    def selected_npn_protocol(self):
        return None

    def cipher(self):
        """Returns None: the cipher is known to the broker only."""
        return None

    shared_ciphers = compression = cipher

    def version(self):
        """Returns "TLS" after the handshake: the version is known to the broker only."""
        return None if self._handshake.result is None else "TLS"

    def get_channel_binding(self, cb_type="tls-unique"):
        raise ValueError(f"{cb_type} channel binding type not implemented")

    def verify_client_post_handshake(self):
        raise _error("the sandbox has no certificates of clients")


class SSLObject(_Secured):
    """A connection of TLS over two memory buffers. Instances are returned by SSLContext.wrap_bio()."""

    def __init__(self, *args, **kwargs):
        raise TypeError(
            f"{type(self).__name__} does not have a public constructor. Instances are returned by SSLContext.wrap_bio()."
        )

    @classmethod
    def _create(cls, incoming, outgoing, server_side=False, server_hostname=None, session=None, context=None):
        _require_possible(context, server_side, server_hostname)
        self = cls.__new__(cls)
        self._incoming, self._outgoing = incoming, outgoing
        self._handshake = _Handshake(context, server_hostname)
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
                raise _ended() if self._incoming.eof else _wants_read()
            handshake.add(data)

    def read(self, len=1024, buffer=None):
        """Read up to 'len' bytes from the SSL object and return them."""
        self._handshake.require_done()
        data = self._incoming.read(len)
        if not data and len and not self._incoming.eof:
            raise _wants_read()
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


class SSLSocket(_Secured, socket.socket):
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
        _require_possible(context, server_side, server_hostname)
        timeout = sock.gettimeout()
        self = cls.__new__(cls)
        _plain.__init__(self, sock.family, sock.type, sock.proto, sock.fileno())
        sock.detach()
        self.settimeout(timeout)
        self._handshake = _Handshake(context, context._encode_hostname(server_hostname))
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
        if not isinstance(_socket_type.end_of(self.fileno()), _outside.Outside):
            raise _error("TLS is only for hosts that 'network' of the profile lists")
        if not handshake.is_sent:
            handshake.is_sent = True
            _plain.sendall(self, handshake.request())
        while handshake.result is None:
            data = self._wanted(_plain.recv, handshake.missing())
            if not data:
                raise _ended()
            handshake.add(data)

    def _wanted(self, call, *args):
        """Calls a method of the plain socket. If the socket must not wait, the error is the one of TLS."""
        try:
            return call(self, *args)
        except BlockingIOError:
            raise _wants_read() from None

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
        raise _error("the sandbox has no TLS for servers")

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
        return len(_socket_type.end_of(self.fileno()).inbox)

    def unwrap(self):
        raise _error("TLS cannot end before its connection in the sandbox")

    def _not_allowed(self, *args, **kwargs):
        raise NotImplementedError(f"not allowed on instances of {type(self)}")

    sendmsg = recvmsg = recvmsg_into = sendto = recvfrom = recvfrom_into = _not_allowed


def _require_no_flags(flags, name):
    if flags:
        raise ValueError(f"non-zero flags not allowed in calls to {name}() on {SSLSocket}")


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
ssl.HAS_NEVER_CHECK_COMMON_NAME = True
ssl.SSLContext.sslobject_class, ssl.SSLContext.sslsocket_class = SSLObject, SSLSocket
ssl.SSLContext.wrap_bio, ssl.SSLContext.set_alpn_protocols = wrap_bio, set_alpn_protocols
