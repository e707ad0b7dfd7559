# Additions to `multiprocessing.connection`: pipes of the sandbox instead of those of the operating system.
# pyright: reportUndefinedVariable=false

import collections

from paddock import _pipes, _processes


def Pipe(duplex=True):
    """Returns pair of connection objects at either end of a pipe"""
    if duplex:
        one, other = _pipes.connection_pair()
        return Connection(one), Connection(other)
    reader, writer = _pipes.pipe()
    return Connection(reader, writable=False), Connection(writer, readable=False)


def wait(object_list, timeout=None):
    """Wait till an object in object_list is ready/readable. Returns list of those objects which are ready/readable."""
    objects = list(object_list)
    numbers = [each if isinstance(each, int) else each.fileno() for each in objects]
    ready = _pipes.wait_readable(numbers, timeout)
    return [each for each, number in zip(objects, numbers) if number in (ready or ())]


def reduce_connection(conn):
    return rebuild_connection, (_pipes.send(conn.fileno()), conn.readable, conn.writable)


def rebuild_connection(number, readable, writable):
    return Connection(_pipes.receive(number), readable, writable)


reduction.register(Connection, reduce_connection)


class SocketListener:
    """Accepts connections of processes of this session."""

    def __init__(self, address=None, family=None, backlog=1):
        self._address = address or arbitrary_address("AF_UNIX")
        self._family, self._last_accepted = family, None
        if self._address in _processes.shared:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        self._waiting = collections.deque()
        self.waiters = []
        _processes.shared[self._address] = self

    def connect(self):
        one, other = _pipes.connection_pair()
        self._waiting.append(_pipes.send(other))
        os.close(other)
        _processes.notify(self)
        return one

    def accept(self):
        _processes.wait_until(lambda: self._waiting, [self], "a connection")
        return Connection(_pipes.receive(self._waiting.popleft()))

    def close(self):
        _processes.shared.pop(self._address, None)


def SocketClient(address):
    """Returns a connection to a listener of this session."""
    listener = _processes.shared.get(address)
    if listener is None:
        raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
    return Connection(listener.connect())
