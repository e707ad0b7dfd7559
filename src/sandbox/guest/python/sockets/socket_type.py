"""Methods of the type `_socket.socket` beside those of data. They wait as long as the socket's timeout allows."""

import errno
import sys
import warnings

SOCK_NONBLOCK, SOCK_CLOEXEC = 0x800, 0x80000
FLAG_BITS = SOCK_NONBLOCK | SOCK_CLOEXEC
INT_BYTES = 4

_audit = sys.audit
_new_error = _addresses.error
_end_of, _integer = _checks.end_of, _checks.integer
default_timeout = [None]


def getdefaulttimeout():
    """Returns the default timeout in seconds (float) for new socket objects."""
    return default_timeout[0]


def setdefaulttimeout(timeout, /):
    """Set the default timeout in seconds (float) for new socket objects."""
    default_timeout[0] = _checks.timeout_of(timeout)


def socketpair(family=1, type=1, proto=0, /):
    """Create a pair of socket objects from the sockets returned by the platform socketpair() function."""
    kind = _integer(type)
    ends = _messages.pair(_integer(family), kind & ~FLAG_BITS, _integer(proto))
    return tuple(_socket_module.socket(family, type, proto, fileno=_pipes.add(end)) for end in ends)


def close(fd, /):
    """Close an integer socket file descriptor."""
    _end_of(_integer(fd))
    _pipes.close(fd)


def dup(fd, /):
    """Return a new socket file descriptor with the same properties as the given one."""
    _end_of(_integer(fd))
    return _pipes.dup(fd)


class socket:
    def __init__(self, family=-1, type=-1, proto=-1, fileno=None):
        family, type, proto = _integer(family), _integer(type), _integer(proto)
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
        fd = _integer(fileno)
        if fd < 0:
            raise ValueError("negative file descriptor")
        return fd, _end_of(fd)

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
            _end_of(fd)
            _pipes.close(fd)

    def gettimeout(self):
        """Returns the timeout in seconds (float) associated with socket operations."""
        return self._timeout

    def settimeout(self, value, /):
        """Set a timeout on socket operations."""
        seconds = _checks.timeout_of(value)
        end = _end_of(self._fd)
        self._timeout, end.blocking = seconds, seconds is None

    def setblocking(self, flag, /):
        """Set the socket to blocking (flag is true) or non-blocking (false)."""
        self.settimeout(None if flag else 0.0)

    def getblocking(self):
        """Returns True if socket is in blocking mode, or False if it is in non-blocking mode."""
        return self._timeout != 0

    def setsockopt(self, level, option, value, optlen=None, /):
        """Set a socket option."""
        end = _end_of(self._fd)
        if value is None:
            if optlen is None:
                raise TypeError("setsockopt() requires 4 arguments when the third argument is None")
            raise _new_error(errno.EINVAL)
        if optlen is not None:
            raise TypeError(f"setsockopt() argument 3 must be None when optlen is given, not {type(value).__name__}")
        value = _integer(value) if hasattr(value, "__index__") else bytes(_checks.bytes_of(value))
        _options.set_value(end, _integer(level), _integer(option), value)

    def getsockopt(self, level, option, buflen=0, /):
        """Get a socket option."""
        end, size = _end_of(self._fd), _integer(buflen)
        if not 0 <= size <= _options.MAX_BYTES:
            raise OSError("getsockopt buflen out of range")
        value = _options.get(end, _integer(level), _integer(option))
        if size == 0:
            return value if isinstance(value, int) else int.from_bytes(value[:INT_BYTES], "little", signed=True)
        return (value.to_bytes(INT_BYTES, "little", signed=True) if isinstance(value, int) else value)[:size]

    def bind(self, address, /):
        """Bind the socket to a local address."""
        parsed = _addresses.parse(self._family, address, "bind")
        _audit("socket.bind", self, address)
        _end_of(self._fd).bind(parsed)

    def listen(self, backlog=128, /):
        """Enable a server to accept connections."""
        _end_of(self._fd).listen(max(_integer(backlog), 0))

    def _accept(self):
        """Wait for an incoming connection. Return a new descriptor, and the address of the client."""
        end = _end_of(self._fd)
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
        end = _end_of(self._fd)
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
        return _end_of(self._fd).local_address()

    def getpeername(self):
        """Return the address of the remote endpoint."""
        return _end_of(self._fd).remote_address()

    def shutdown(self, how, /):
        """Shut down the reading side of the socket (flag == SHUT_RD), the writing side, or both."""
        _end_of(self._fd).shutdown(_integer(how))


_late_modules.fill(_socket_module.socket, socket, _socket_data.socket)
