# Additions to `multiprocessing.heap`: processes share the memory of one interpreter.

from paddock import _processes


class _Buffer(bytearray):
    """Memory that processes share."""


class BufferWrapper:
    """A piece of shared memory."""

    def __init__(self, size):
        if size < 0:
            raise ValueError("Size {0:n} out of range".format(size))
        self._buffer = _Buffer(size)
        _processes.shared[id(self._buffer)] = self._buffer

    def create_memoryview(self):
        return memoryview(self._buffer)

    def __reduce__(self):
        assert_spawning(self)
        from .context import get_spawning_popen

        get_spawning_popen().keep(self._buffer)  # until the child has it
        return _rebuild_buffer, (id(self._buffer),)


def _rebuild_buffer(number):
    wrapper = object.__new__(BufferWrapper)
    wrapper._buffer = _processes.shared[number]
    return wrapper
