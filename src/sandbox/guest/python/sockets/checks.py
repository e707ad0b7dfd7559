"""Checks what programs pass to sockets."""

import errno

MSG_OOB = 0x1
MAX_INT, MAX_SECONDS = 2**31 - 1, (2**63 - 1) / 1e9

_new_error = _addresses.error
_endpoint = _endpoints.Endpoint


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
    """Returns the bytes of an object that a call is to send."""
    try:
        return memoryview(data).cast("B")
    except TypeError:
        if isinstance(data, (bytes, bytearray, memoryview)) or hasattr(data, "__buffer__"):
            return memoryview(bytes(data))
        raise TypeError(f"a bytes-like object is required, not '{type(data).__name__}'") from None


def require_flags(flags):
    """Returns flags of a call. Raises the error of those that no socket has here."""
    if integer(flags) & MSG_OOB:
        raise OSError(errno.EOPNOTSUPP, "urgent data (MSG_OOB) is not supported by the sockets of the sandbox")
    return flags


def size_of(value, name):
    """Returns the number of bytes that a call may return."""
    size = integer(value)
    if size < 0:
        raise ValueError(f"negative buffersize in {name}")
    return size


def writable(buffer, name):
    """Returns the memory of a buffer that a call is to fill."""
    try:
        view = memoryview(buffer)
        if view.readonly:
            raise TypeError
        return view.cast("B")
    except TypeError:
        text = f"{name}() argument 1 must be read-write bytes-like object, not {type(buffer).__name__}"
        raise TypeError(text) from None
