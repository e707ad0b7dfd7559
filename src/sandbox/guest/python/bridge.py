"""The bridge from Python to the host: a device with requests, and functions that use it."""

import os
import struct
import time as _time

BRIDGE = 3  # the worker opens this descriptor before any block runs

REPLY, PACKET = 1, 2
"""What `wait` returns."""

UTC = struct.pack("<16s16sdii", b"UTC", b"UTC", -(2.0**60), 0, 0)
"""The zone of local times at the start."""

_write = os.write
_read = os.read
_pack = struct.pack
_monotonic = _time.monotonic
zone = [None, UTC]
"""The zone of the running process."""


def wait(ms):
    """Waits for a reply, a packet or an interrupt, for at most `ms`. Returns REPLY or PACKET if there is one."""
    return _write(BRIDGE, b"W" + _pack("<d", _ms_left(ms)))


def send_call(payload):
    _write(BRIDGE, b"C" + payload)


def display(payload):
    """Sends a bundle of data by MIME type, as JSON. Empty bytes remove those of the block."""
    _write(BRIDGE, b"D" + payload)


def take_reply():
    """Returns the host's next reply as bytes, empty if there is none."""
    size = struct.unpack("<I", _read(BRIDGE, 4))[0]
    return _read(BRIDGE, size) if size else b""


def send_packet(packet):
    """Sends a packet of a connection to the outside."""
    _write(BRIDGE, b"P" + packet)


def take_packet():
    """Returns the next packet of a connection to the outside."""
    _write(BRIDGE, b"G")
    return take_reply()


def new_connection():
    """Returns a number that no connection to the outside had before."""
    return _write(BRIDGE, b"Q")


def is_listed(name):
    """Returns True if the profile lists a host. Raises OSError if the profile has no network."""
    return _write(BRIDGE, b"L" + name.encode()) > 1


def take_input():
    """Returns the contents of the block's next input."""
    _write(BRIDGE, b"I")
    return take_reply()


def sleep(seconds, /):
    """Replacement for `time.sleep` that an interrupt can end."""
    if seconds != seconds:
        raise ValueError("Invalid value NaN (not a number)")
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    end = _monotonic() + seconds
    while (left := end - _monotonic()) > 0:
        pause(min(left, 3600.0) * 1000)


def pause(ms):
    """Waits for `ms` or until an interrupt. Does not take replies of the host."""
    _write(BRIDGE, b"S" + _pack("<d", _ms_left(ms)))


def _ms_left(ms):
    return _timers.ms_left(_alarms.ms_left(ms))


def set_timers(cpu_ms, wall_ms):
    """Has the signal of timers sent after so much CPU time, and after so much time. 0 stops each."""
    _write(BRIDGE, b"T" + _pack("<dd", cpu_ms, wall_ms))


def set_zone(name, data):
    """Sets the zone of local times: a value of the environment variable TZ, and its names and periods."""
    if data != zone[1]:
        _write(BRIDGE, b"Z" + data)
    zone[:] = name, data


def create_socket_file(path):
    """Creates the file of a Unix socket, which Python's own functions cannot."""
    _write(BRIDGE, b"U" + path)


def count_sockets(count):
    """Reports the number of open sockets, with which there is no checkpoint."""
    _write(BRIDGE, b"O" + _pack("<I", count))


def set_alarm(ms):
    """Has SIGALRM sent after so many milliseconds. 0 stops it."""
    _write(BRIDGE, b"A" + _pack("<dd", ms, 0.0))


def has_shell():
    """True if the profile has a shell."""
    try:
        return _write(BRIDGE, b"?") > 0
    except OSError:
        return False


def start_command(number, words, env, stdin):
    """Starts a command of the shell: its script, directory and arguments. It runs when Python waits."""
    text = "\0".join([*words, *(f"{name}={value}" for name, value in env.items())]).encode("utf-8", "replace")
    _write(BRIDGE, b"X" + _pack("<III", number, len(words) - 2, len(text)) + text + stdin)


def next_event(number):
    """Returns the next event of a command, empty if there is none."""
    _write(BRIDGE, b"E" + _pack("<I", number))
    return take_reply()


def take_news():
    """Returns the numbers of the commands that have new events."""
    _write(BRIDGE, b"N")
    numbers = take_reply()
    return struct.unpack(f"<{len(numbers) // 4}I", numbers)


def end_program(number, program, code, stdout, stderr):
    """Ends a Python program of a command."""
    _write(BRIDGE, b"R" + _pack("<IIiI", number, program, code, len(stdout)) + stdout + stderr)


def kill_command(number):
    _write(BRIDGE, b"K" + _pack("<I", number))


def set_command_wait(ms, is_slice):
    """Sets how long commands run when Python leaves its stack for them next."""
    _write(BRIDGE, b"Y" + _pack("<Bd", is_slice, _ms_left(ms)))


sleep.__name__ = sleep.__qualname__ = "sleep"
sleep.__module__ = "time"
_time.sleep = sleep
