"""Descriptors that travel with messages of Unix sockets."""

import errno

SOL_SOCKET, SCM_RIGHTS, AF_UNIX = 1, 1, 1
INT_BYTES, HEADER, ALIGNMENT = 4, 16, 8
MAX_INT, MAX_RIGHTS = 2**31 - 1, 253
MSG_CTRUNC = 0x8


def CMSG_LEN(length, /):
    """Return the total length, without trailing padding, of an ancillary data item with associated data of the given length."""
    if not 0 <= length <= MAX_INT - HEADER:
        raise OverflowError("CMSG_LEN() argument out of range")
    return HEADER + length


def CMSG_SPACE(length, /):
    """Return the buffer size needed for recvmsg() to receive an ancillary data item with associated data of the given length."""
    if not 0 <= length <= MAX_INT - HEADER - ALIGNMENT:
        raise OverflowError("CMSG_SPACE() argument out of range")
    return HEADER + -(-length // ALIGNMENT) * ALIGNMENT


def parse(ancdata):
    """Returns the items that a program passes, each with its level, type and bytes."""
    if not hasattr(ancdata, "__iter__"):
        raise TypeError("sendmsg() argument 2 must be an iterable")
    items = []
    for each in list(ancdata):
        if not isinstance(each, tuple) and not hasattr(each, "__len__") or len(each) != 3:
            raise TypeError("sendmsg() argument 2 must be an iterable of 3-tuples (level, type, data)")
        level, kind, data = each
        items.append((_checks.integer(level), _checks.integer(kind), bytes(_checks.bytes_of(data))))
    return items


def rights_of(end, items):
    """Returns the open files of the descriptors in the items."""
    numbers = []
    for level, kind, data in items:
        if (level, kind) != (SOL_SOCKET, SCM_RIGHTS) or end.family != AF_UNIX:
            raise _addresses.error(errno.EINVAL)
        numbers += [int.from_bytes(data[at : at + INT_BYTES], "little", signed=True) for at in range(0, len(data), INT_BYTES)]
    if len(numbers) > MAX_RIGHTS:
        raise _addresses.error(errno.EINVAL)
    found = []
    try:
        for number in numbers:
            _pipes.require_open(number)
            found.append(_pipes.end_of(number))
    except OSError:
        for each in found:
            each.release()
        raise
    return found


def deliver(ends, space):
    """Returns new descriptors for open files, as far as there is space for them, and flags."""
    if not ends:
        return [], 0
    count = max(0, (space - HEADER) // INT_BYTES) if space >= HEADER else 0
    numbers = [_number_of(end) for end in ends[:count]]
    for end in ends[count:]:
        end.release()
    data = b"".join(number.to_bytes(INT_BYTES, "little") for number in numbers)
    return [(SOL_SOCKET, SCM_RIGHTS, data)] if numbers else [], MSG_CTRUNC if count < len(ends) else 0


def _number_of(end):
    if not isinstance(end, _pipes.FileEnd):
        return _pipes.add(end)
    fd = _pipes._os_dup(end.fd)  # a file of the file system is one for all processes
    end.release()
    return fd
