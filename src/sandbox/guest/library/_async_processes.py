"""Transports of `asyncio` to child processes. Threads read, write and wait."""

import collections
import os
import subprocess
import threading
from asyncio import base_subprocess, transports


class ReadPipe(transports.ReadTransport):
    """Passes what it reads to a protocol."""

    def __init__(self, loop, pipe, protocol, waiter):
        super().__init__({"pipe": pipe})
        self._loop, self._pipe, self._protocol = loop, pipe, protocol
        self._closing, self._resumed = False, threading.Event()
        self._resumed.set()
        loop.call_soon(protocol.connection_made, self)
        loop.call_soon(_set_result, waiter)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        while not self._closing:
            self._resumed.wait()
            data = os.read(self._pipe.fileno(), 65536)
            if not data:
                break
            _call(self._loop, self._protocol.data_received, data)
        _call(self._loop, self._end)

    def _end(self):
        if not self._closing:
            self._protocol.eof_received()
        self._closing = True
        self._pipe.close()
        self._protocol.connection_lost(None)

    def pause_reading(self):
        self._resumed.clear()

    def resume_reading(self):
        self._resumed.set()

    def is_reading(self):
        return self._resumed.is_set()

    def is_closing(self):
        return self._closing

    def close(self):
        self._closing = True
        self._resumed.set()


class WritePipe(transports.WriteTransport):
    """Writes what it is given."""

    def __init__(self, loop, pipe, protocol, waiter):
        super().__init__({"pipe": pipe})
        self._loop, self._pipe, self._protocol = loop, pipe, protocol
        self._pieces, self._closing, self._changed = collections.deque(), False, threading.Condition()
        loop.call_soon(protocol.connection_made, self)
        loop.call_soon(_set_result, waiter)
        threading.Thread(target=self._write, daemon=True).start()

    def _write(self):
        error = None
        try:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._pieces or self._closing)
                    if not self._pieces:
                        break
                    piece = self._pieces.popleft()
                os.write(self._pipe.fileno(), piece)
                if not self._pieces:
                    _call(self._loop, self._protocol.resume_writing)
        except OSError as caught:
            error = caught
        _call(self._loop, self._end, error)

    def _end(self, error):
        self._closing = True
        self._pipe.close()
        self._protocol.connection_lost(error)

    def write(self, data):
        if self._closing or not data:
            return
        with self._changed:
            self._pieces.append(bytes(data))
            self._changed.notify()
        self._protocol.pause_writing()

    def write_eof(self):
        self.close()

    def can_write_eof(self):
        return True

    def get_write_buffer_size(self):
        return sum(map(len, self._pieces))

    def is_closing(self):
        return self._closing

    def close(self):
        with self._changed:
            self._closing = True
            self._changed.notify()

    def abort(self):
        self._pieces.clear()
        self.close()


class SubprocessTransport(base_subprocess.BaseSubprocessTransport):
    """A child process."""

    def _start(self, args, shell, stdin, stdout, stderr, bufsize, **kwargs):
        self._proc = subprocess.Popen(
            args, shell=shell, stdin=stdin, stdout=stdout, stderr=stderr, bufsize=bufsize, **kwargs
        )
        threading.Thread(target=self._await_exit, daemon=True).start()

    def _await_exit(self):
        code = self._proc.wait()
        _call(self._loop, self._process_exited, code)


async def connect(loop, protocol, args, shell, stdin, stdout, stderr, bufsize, extra=None, **kwargs):
    """Starts a process. Returns its transport when its pipes are connected."""
    waiter = loop.create_future()
    transport = SubprocessTransport(
        loop, protocol, args, shell, stdin, stdout, stderr, bufsize, waiter=waiter, extra=extra, **kwargs
    )
    try:
        await waiter
    except BaseException:
        transport.close()
        await transport._wait()
        raise
    return transport


def _set_result(waiter):
    if waiter is not None and not waiter.done():
        waiter.set_result(None)


def _call(loop, function, *args):
    """Calls a function in the loop, unless that has been closed."""
    try:
        loop.call_soon_threadsafe(function, *args)
    except RuntimeError:
        pass
