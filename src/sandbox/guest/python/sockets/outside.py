"""Connections to hosts that the profile lists. The host of the sandbox carries their bytes."""

import _socket
import errno
import json
import struct

OPEN, SEND, CREDIT, TLS, END, CLOSE, READY = 1, 2, 3, 4, 5, 6, 7
OPENED, DATA, SENT, SECURED, ENDED, FAILED = 32, 33, 34, 35, 36, 37
WINDOW, MAX_PIECE = 1 << 18, 1 << 16
FIRST_ADDRESS, LAST_ADDRESS = 0xC6120002, 0xC613FFFE
SOURCE = b"\xc6\x12\0\1"
"""Addresses of the block 198.18.0.0/15, which no host of the internet has. Each name that resolved has one of its own."""

HELLO, REPLY = b"\x16\xfePADDOCK", b"\x16\xff"
"""Beginnings of a request for TLS and of its result, which are among the bytes of a connection."""

CONNECTING, CONNECTED, CLOSED, NEW = _streams.CONNECTING, _streams.CONNECTED, _streams.CLOSED, _streams.NEW
Stream = _streams.Stream

_links = {}
"""The open connections, by their number."""
_names_by_ip, _ips_by_name = {}, {}
"""Names by their address, and addresses by their name."""

_dumps, _loads = json.JSONEncoder().encode, json.JSONDecoder().decode
_pack, _unpack = struct.pack, struct.unpack
_gaierror, _eai_noname = _socket.gaierror, _socket.EAI_NONAME


class Link:
    """What a socket has in the place of its peer."""

    __slots__ = ("number", "end", "room", "credited", "looked", "options")

    def __init__(self, number, end):
        self.number, self.end, self.room, self.credited, self.looked = number, end, WINDOW, 0, 0
        self.options = end.options

    def post(self, kind, body=b""):
        _bridge.send_packet(_pack("<IB", self.number, kind) + body)

    def forget(self):
        """Ends the connection. No packet finds it any more."""
        _links.pop(self.number, None)
        _sched.links[0] = len(_links)

    def close(self):
        self.forget()
        try:
            self.post(CLOSE)
        except OSError:
            pass  # the interpreter is being reset, and the host has closed the connection


class Outside(Stream):
    """A socket that is connected to the outside, or is about to be."""

    __slots__ = ()

    def events(self):
        poll()
        link = self.peer
        if link is not None and self.state is CONNECTED:
            link.looked += 1
            if link.looked == 2:  # not at the first call, with which a program waits for the connection: TLS may follow
                link.post(READY)
        return super().events()

    def take(self, size, flags):
        if not self.inbox:
            poll()
        if not self.inbox and self.peer is not None and self.peer.looked < 2:
            self.peer.looked = 2
            self.peer.post(READY)
        return super().take(size, flags)

    def _tell_room(self):
        link = self.peer
        if link is not None and self.taken - link.credited >= WINDOW // 4:
            link.post(CREDIT, _pack("<I", self.taken - link.credited))
            link.credited = self.taken

    def _has_room(self):
        return self.peer is None or self.peer.room > 0

    def send(self, view, address, rights):
        self._require_output(address)
        link = self.peer
        if link is None:
            return self._send_to_nothing(len(view)) if len(view) else 0
        link.looked = 2
        if bytes(view[: len(HELLO)]) == HELLO:
            link.post(TLS, bytes(view[len(HELLO) :]))
            return len(view)
        if not link.room:
            poll()
        piece = view[: min(link.room, MAX_PIECE)]
        if not len(piece):
            return None if len(view) else 0
        link.room -= len(piece)
        link.post(SEND, bytes(piece))
        return len(piece)

    def shutdown(self, how):
        if how not in (_streams.SHUT_RD, _streams.SHUT_WR, _streams.SHUT_RDWR):
            raise _addresses.error(errno.EINVAL)
        if self.state is not CONNECTED:
            raise _addresses.error(errno.ENOTCONN)
        if how != _streams.SHUT_WR:
            self.no_input = True
        if how != _streams.SHUT_RD and not self.no_output:
            self.no_output = True
            if self.peer is not None:
                self.peer.post(END)
        _procs.notify(self)

    def disconnect(self):
        link, self.peer = self.peer, None
        _reasons.pop(id(self), None)
        self.state, self.inbox, self.rights = CLOSED, bytearray(), None
        if link is not None:
            link.close()

    def connect(self, address):
        if self.state is not NEW:
            return super().connect(address)
        self.__class__ = Stream  # an attempt has failed, and the next one may be for the session itself
        _reasons.pop(id(self), None)
        return self.connect(address)

    def take_error(self):
        _reasons.pop(id(self), None)
        return super().take_error()

    def raise_error(self):
        if self.error:
            text = _reasons.get(id(self))
            number = self.take_error()
            raise _addresses.error(number) if text is None else OSError(number, text)


_reasons = {}
"""Reasons of the host for errors of sockets, by the socket's identity, until the program gets the error."""


def find_host(text):
    """Returns the packed address of a host that the profile lists. Any other name is a denied attempt."""
    name = text.lower().removesuffix(".")
    if name in _ips_by_name:
        return _ips_by_name[name]
    try:
        is_listed = _bridge.is_listed(name)
    except OSError:  # the profile has no network
        _addresses.refuse_name(text)
    if not is_listed:
        _addresses.count_denial(_addresses.AF_INET, 1)
        raise _gaierror(_eai_noname, f"Name or service not known: {text!r} is not in 'network' of the profile")
    if len(_names_by_ip) > LAST_ADDRESS - FIRST_ADDRESS:
        raise _addresses.error(errno.ENOMEM)
    address = (FIRST_ADDRESS + len(_names_by_ip)).to_bytes(4)
    _names_by_ip[address], _ips_by_name[name] = name, address
    return address


def name_of(ip):
    """Returns the name of an address of this module, None if the address has none."""
    return _names_by_ip.get(_addresses.plain(ip))


def connect(end, address):
    """Begins a connection of a stream to an address outside the session."""
    name = name_of(address.ip)
    if name is None:
        _addresses.refuse_network(end.family, end.kind)
    number = _bridge.new_connection()
    if end.name is None:
        end.bind_somewhere()
        end.name = _addresses.Inet(SOURCE, end.name.port)
    end.__class__ = Outside
    end.state, end.remote = CONNECTING, address
    link = end.peer = _links[number] = Link(number, end)
    _sched.links[0] = len(_links)
    link.post(OPEN, _pack("<H", address.port) + name.encode())


def poll():
    """Takes the packets that have arrived."""
    while _links and _tools._collect(0.0):
        _sched._wake_reply_waiters()


def receive(packet):
    """Handles a packet of the host."""
    number, kind = _unpack("<IB", packet[:5])
    link = _links.get(number)
    if link is None:
        return
    end, body = link.end, packet[5:]
    if kind == DATA:
        if not end.no_input:
            end.inbox += body
        else:
            end.taken += len(body)
            end._tell_room()
    elif kind == SENT:
        link.room += _unpack("<I", body)[0]
    elif kind == OPENED:
        end.state = CONNECTED
    elif kind == SECURED:
        reply = REPLY + _pack("<H", len(body)) + body
        end.inbox += reply
        link.credited += len(reply)
    elif kind == ENDED:
        end.ended = True
    elif kind == FAILED:
        _fail(link, **_loads(body.decode()))
    _procs.notify(end)


def _fail(link, code, message):
    end, end.error = link.end, getattr(errno, code, errno.EIO)
    link.forget()
    end.peer = None
    _reasons[id(end)] = message
    if code == "EACCES":
        _addresses.count_denial(end.family, end.kind)
    end.state = NEW if end.state is CONNECTING else CLOSED
