"""The type `_socket.socket`: checks what a program passes, and waits as long as the socket's timeout allows."""

import errno
import sys
import warnings

SOCK_NONBLOCK, SOCK_CLOEXEC = 0x800, 0x80000
FLAG_BITS = SOCK_NONBLOCK | SOCK_CLOEXEC
MSG_OOB, MSG_CTRUNC, MSG_WAITALL, MSG_PEEK = 0x1, 0x8, 0x100, 0x2
SOL_SOCKET, SCM_RIGHTS = 1, 1
INT_BYTES, MAX_INT, MAX_SECONDS = 4, 2**31 - 1, (2**63 - 1) / 1e9
MAX_VECTORS, MAX_RIGHTS = 1024, 253

_audit = sys.audit
_endpoint = _endpoints.Endpoint
_new_error = _addresses.error
default_timeout = [None]


def timeout_of(value):
    """Returns a timeout in seconds that a program passes, None if there is none."""
    if value is None:
        return None
    if not isinstance(value, (int, float)):
        if not hasattr(value, "__index__"):
            raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
        value = value.__index__()
    seconds = float(value)
    if seconds != seconds:
        raise ValueError("Invalid value NaN (not a number)")
    if abs(seconds) > MAX_SECONDS:
        raise OverflowError("timestamp too large to convert to C PyTime_t")
    if seconds < 0:
        raise ValueError("Timeout value out of range")
    return seconds


def end_of(fd):
    """Returns the socket that a descriptor of the running process refers to."""
    end = _procs.current().fds.get(fd)
    if isinstance(end, _endpoint):
        return end
    if end is None:
        _pipes.require_open(fd)
    raise _new_error(errno.ENOTSOCK)


def integer(value, name="argument"):
    """Returns a number that C code would take as an `int`."""
    if not hasattr(value, "__index__"):
        raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
    number = value.__index__()
    if not -MAX_INT - 1 <= number <= MAX_INT:
        raise OverflowError("signed integer is greater than maximum" if number > 0 else "signed integer is less than minimum")
    return number


def bytes_of(data):
    try:
        return memoryview(data).cast("B")
    except TypeError:
        if isinstance(data, (bytes, bytearray, memoryview)) or hasattr(data, "__buffer__"):
            return memoryview(bytes(data))
        raise TypeError(f"a bytes-like object is required, not '{type(data).__name__}'") from None


def _require_flags(flags):
    if integer(flags) & MSG_OOB:
        raise OSError(errno.EOPNOTSUPP, "urgent data (MSG_OOB) is not supported by the sockets of the sandbox")
    return flags


def _size(value, name):
    size = integer(value)
    if size < 0:
        raise ValueError(f"negative buffersize in {name}")
    return size


class socket:
    """A socket of the session: its addresses are those of the session itself."""

    __slots__ = ("_fd", "_family", "_type", "_proto", "_timeout")

    def __new__(cls, *args, **kwargs):
        self = object.__new__(cls)
        self._fd = -1
        self._family = self._type = self._proto = 0
        self._timeout = None
        return self

    def __init__(self, family=-1, type=-1, proto=-1, fileno=None):
        family, type, proto = integer(family), integer(type), integer(proto)
        _audit("socket.__new__", self, family, type, proto)
        if fileno is None:
            family, proto = 2 if family == -1 else family, 0 if proto == -1 else proto
            type = 1 if type == -1 else type
            end = _messages.create(family, type & ~FLAG_BITS, proto)
            self._fd = _pipes.add(end)
        else:
            self._fd, end = self._adopt(fileno)
        self._family = end.family if family == -1 else family
        self._proto = end.proto if proto == -1 else proto
        self._type = end.kind if type == -1 else type & ~FLAG_BITS
        self._timeout = default_timeout[0]
        if type != -1 and type & SOCK_NONBLOCK:
            self._timeout = 0.0
        if self._timeout is not None:
            end.blocking = False

    def _adopt(self, fileno):
        if isinstance(fileno, float):
            raise TypeError("integer argument expected, got float")
        fd = integer(fileno)
        if fd < 0:
            raise ValueError("negative file descriptor")
        return fd, end_of(fd)

    @property
    def family(self):
        """the socket family"""
        return self._family

    @property
    def type(self):
        """the socket type"""
        return self._type

    @property
    def proto(self):
        """the socket protocol"""
        return self._proto

    @property
    def timeout(self):
        """the socket timeout"""
        return self._timeout

    def __repr__(self):
        return f"<socket object, fd={self._fd}, family={self._family}, type={self._type}, proto={self._proto}>"

    def __del__(self):
        fd = self._fd
        if fd == -1 or fd not in _procs.current().fds:
            return
        warnings.warn(f"unclosed {self!r}", ResourceWarning, 2, source=self)
        self._fd = -1
        _pipes.close(fd)

    def fileno(self):
        """Return the integer file descriptor of the socket."""
        return self._fd

    def detach(self):
        """Close the socket object without closing the underlying file descriptor."""
        fd, self._fd = self._fd, -1
        return fd

    def close(self):
        """Close the socket.  It cannot be used after this call."""
        fd, self._fd = self._fd, -1
        if fd != -1:
            end_of(fd)
            _pipes.close(fd)

    def gettimeout(self):
        """Returns the timeout in seconds (float) associated with socket operations."""
        return self._timeout

    def settimeout(self, value, /):
        """Set a timeout on socket operations."""
        seconds = timeout_of(value)
        end = end_of(self._fd)
        self._timeout, end.blocking = seconds, seconds is None

    def setblocking(self, flag, /):
        """Set the socket to blocking (flag is true) or non-blocking (false)."""
        self.settimeout(None if flag else 0.0)

    def getblocking(self):
        """Returns True if socket is in blocking mode, or False if it is in non-blocking mode."""
        return self._timeout != 0

    def setsockopt(self, level, option, value, optlen=None, /):
        """Set a socket option."""
        end = end_of(self._fd)
        if value is None:
            if optlen is None:
                raise TypeError("setsockopt() requires 4 arguments when the third argument is None")
            raise _new_error(errno.EINVAL)
        if optlen is not None:
            raise TypeError(f"setsockopt() argument 3 must be None when optlen is given, not {type(value).__name__}")
        value = integer(value) if hasattr(value, "__index__") else bytes(bytes_of(value))
        _options.set_value(end, integer(level), integer(option), value)

    def getsockopt(self, level, option, buflen=0, /):
        """Get a socket option."""
        end, size = end_of(self._fd), integer(buflen)
        if not 0 <= size <= _options.MAX_BYTES:
            raise OSError("getsockopt buflen out of range")
        value = _options.get(end, integer(level), integer(option))
        if size == 0:
            return value if isinstance(value, int) else int.from_bytes(value[:INT_BYTES], "little", signed=True)
        return (value.to_bytes(INT_BYTES, "little", signed=True) if isinstance(value, int) else value)[:size]

    def bind(self, address, /):
        """Bind the socket to a local address."""
        parsed = _addresses.parse(self._family, address, "bind")
        _audit("socket.bind", self, address)
        end_of(self._fd).bind(parsed)

    def listen(self, backlog=128, /):
        """Enable a server to accept connections."""
        end_of(self._fd).listen(max(integer(backlog), 0))

    def _accept(self):
        """Wait for an incoming connection. Return a new descriptor, and the address of the client."""
        end = end_of(self._fd)
        accepted = end.complete(end.accept, self._timeout, 0, "a connection to accept")
        address = accepted.remote.for_family(self._family) if accepted.is_inet() else _addresses.unix_text(accepted.remote or b"")
        return _pipes.add(accepted), address

    def connect(self, address, /):
        """Connect the socket to a remote address."""
        parsed = _addresses.parse(self._family, address, "connect")
        _audit("socket.connect", self, address)
        self._connect(parsed)

    def connect_ex(self, address, /):
        """This is like connect(address), but returns an error code (the errno value) instead of raising an exception."""
        parsed = _addresses.parse(self._family, address, "connect_ex")
        _audit("socket.connect", self, address)
        try:
            self._connect(parsed)
        except TimeoutError as cause:
            return cause.errno or errno.EAGAIN
        except OSError as cause:
            return cause.errno
        return 0

    def _connect(self, address):
        end = end_of(self._fd)
        waits = self._timeout != 0 and (self._timeout is not None or end.blocking)
        if end.kind == 1 and end.is_inet() and not waits:
            end.begin_connect(address)
        elif end.connect(address) is None:
            if not waits:
                end.give_up()
                raise _new_error(errno.EAGAIN)
            end.complete(end.is_connected, self._timeout, 0, "a connection")

    def getsockname(self):
        """Return the address of the local endpoint."""
        return end_of(self._fd).local_address()

    def getpeername(self):
        """Return the address of the remote endpoint."""
        return end_of(self._fd).remote_address()

    def shutdown(self, how, /):
        """Shut down the reading side of the socket (flag == SHUT_RD), the writing side, or both."""
        end_of(self._fd).shutdown(integer(how))

    def recv(self, buffersize, flags=0, /):
        """Receive up to buffersize bytes from the socket."""
        size = _size(buffersize, "recv")
        return self._receive(size, flags)[0]

    def _receive(self, size, flags):
        data, address, rights, cut = end_of(self._fd).receive(size, _require_flags(flags), self._timeout)
        for end in rights:
            end.release()
        return data, address, cut

    def recvfrom(self, buffersize, flags=0, /):
        """Like recv(buffersize, flags) but also return the sender's address info."""
        size = _size(buffersize, "recvfrom")
        return self._receive(size, flags)[:2]

    def recv_into(self, buffer, nbytes=0, flags=0):
        """A version of recv() that stores its data into a buffer rather than creating a new string."""
        return self._receive_into(buffer, nbytes, flags, "recv_into")[0]

    def recvfrom_into(self, buffer, nbytes=0, flags=0):
        """Like recv_into(buffer[, nbytes[, flags]]) but also return the sender's address info."""
        return self._receive_into(buffer, nbytes, flags, "recvfrom_into")

    def _receive_into(self, buffer, nbytes, flags, name):
        view = _writable(buffer, name)
        size = _size(nbytes, name)
        if size > len(view):
            raise ValueError("buffer too small for requested bytes" if name == "recv_into" else "nbytes is greater than the length of the buffer")
        data, address, _ = self._receive(size or len(view), flags)
        view[: len(data)] = data
        return len(data), address

    def recvmsg(self, bufsize, ancbufsize=0, flags=0, /):
        """Receive normal data (up to bufsize bytes) and ancillary data from the socket."""
        size, space = integer(bufsize), integer(ancbufsize)
        if size < 0:
            raise ValueError("negative buffer size in recvmsg()")
        return self._receive_message(size, space, flags)

    def _receive_message(self, size, space, flags):
        if not 0 <= space <= MAX_INT - 16:
            raise ValueError("invalid ancillary data buffer length")
        end = end_of(self._fd)
        data, address, rights, cut = end.receive(size, _require_flags(flags), self._timeout)
        ancillary, more = _ancillary.deliver(rights, space)
        return data, ancillary, cut | more, address

    def recvmsg_into(self, buffers, ancbufsize=0, flags=0, /):
        """Receive normal data and ancillary data from the socket, scattering the former into a series of buffers."""
        try:
            views = [_writable(each, "recvmsg_into") for each in buffers]
        except TypeError:
            if not hasattr(buffers, "__iter__"):
                raise TypeError("recvmsg_into() argument 1 must be an iterable") from None
            raise
        if len(views) > MAX_VECTORS:
            raise _new_error(errno.EMSGSIZE)
        data, *rest = self._receive_message(sum(map(len, views)), integer(ancbufsize), flags)
        at = 0
        for view in views:
            piece = data[at : at + len(view)]
            view[: len(piece)] = piece
            at += len(piece)
        return len(data), *rest

    def send(self, data, flags=0, /):
        """Send a data string to the socket.  For the optional flags argument, see the Unix manual."""
        view = bytes_of(data)
        return self._send(view, flags, None, ())

    def _send(self, view, flags, address, rights):
        end = end_of(self._fd)
        objects = [*end.waited]
        if address is not None and not end.is_inet() and end.kind == 2:
            objects.append(_endpoints.socket_named(address, 2))
        flags = _require_flags(flags)
        return end.complete(lambda: end.send(view, address, rights), self._timeout, flags, objects=objects)

    def sendall(self, data, flags=0, /):
        """Send a data string to the socket. This calls send() repeatedly until all data is sent."""
        view = bytes_of(data)
        end, deadline = end_of(self._fd), _locks.deadline_of(self._timeout)
        at = 0
        while True:
            left = self._timeout if not self._timeout or not at else max(deadline - _locks._monotonic(), 1e-9)
            at += end.complete(lambda: end.send(view[at:], None, ()), left, _require_flags(flags))
            if at >= len(view):
                return None

    def sendto(self, data, *args):
        """Like send(data, flags) but allows specifying the destination address."""
        if not 1 <= len(args) <= 2:
            raise TypeError(f"sendto() takes 2 or 3 arguments ({len(args) + 1} given)")
        view = bytes_of(data)
        flags = integer(args[0]) if len(args) == 2 else 0
        parsed = _addresses.parse(self._family, args[-1], "sendto")
        _audit("socket.sendto", self, args[-1])
        return self._send(view, flags, parsed, ())

    def sendmsg(self, buffers, ancdata=(), flags=0, address=None, /):
        """Send normal and ancillary data to the socket, gathering the former from a series of buffers."""
        if not hasattr(buffers, "__iter__"):
            raise TypeError("sendmsg() argument 1 must be iterable")
        views = [bytes_of(each) for each in list(buffers)]
        items = _ancillary.parse(ancdata)
        if len(views) > MAX_VECTORS:
            raise _new_error(errno.EMSGSIZE)
        parsed = None if address is None else _addresses.parse(self._family, address, "sendmsg")
        end = end_of(self._fd)
        rights = _ancillary.rights_of(end, items)
        data = views[0] if len(views) == 1 else memoryview(b"".join(views))
        try:
            return self._send(data, flags, parsed, rights)
        except BaseException:
            for each in rights:
                each.release()
            raise


def _writable(buffer, name):
    try:
        view = memoryview(buffer)
        if view.readonly:
            raise TypeError
        return view.cast("B")
    except TypeError:
        text = f"{name}() argument 1 must be read-write bytes-like object, not {type(buffer).__name__}"
        raise TypeError(text) from None


socket.__module__ = "_socket"
