# Additions to `multiprocessing.connection`: pipes of the sandbox instead of those of the operating system.
# pyright: reportUndefinedVariable=false

from paddock import _pipes


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

