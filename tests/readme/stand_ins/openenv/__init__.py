"""Replaces openenv: its generic client, which keeps an episode on one WebSocket, with the same messages."""

import base64
import json
import os
import socket
import struct
from types import SimpleNamespace
from urllib.parse import urlsplit

_TEXT, _CLOSE, _PING, _PONG = 1, 8, 9, 10


class GenericEnvClient:
    def __init__(self, base_url):
        self._address = urlsplit(base_url.replace("http", "ws", 1).rstrip("/") + "/ws")
        self._socket = None

    def sync(self):
        return self

    def reset(self, **kwargs):
        return self._result({"type": "reset", "data": kwargs})

    def step(self, action):
        return self._result({"type": "step", "data": action})

    def close(self):
        if self._socket is not None:
            self._send(_TEXT, json.dumps({"type": "close"}).encode())
            self._socket.close()

    def _result(self, message):
        self._connect()
        self._send(_TEXT, json.dumps(message).encode())
        answer = json.loads(self._receive())
        if answer["type"] == "error":
            raise RuntimeError(f"Server error: {answer['data']['message']} (code: {answer['data']['code']})")
        data = answer["data"]
        return SimpleNamespace(observation=data["observation"], reward=data["reward"], done=data["done"])

    def _connect(self):
        if self._socket is not None:
            return
        self._socket = socket.create_connection((self._address.hostname, self._address.port), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {self._address.path} HTTP/1.1", f"Host: {self._address.netloc}", "Upgrade: websocket"]
        lines += ["Connection: Upgrade", f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", "", ""]
        self._socket.sendall("\r\n".join(lines).encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self._exactly(1)
        assert b" 101 " in head.split(b"\r\n")[0], head

    def _send(self, kind, payload):
        mask = os.urandom(4)
        size = len(payload)
        length = bytes([0x80 | size]) if size < 126 else bytes([0x80 | 126]) + struct.pack(">H", size)
        self._socket.sendall(bytes([0x80 | kind]) + length + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload)))

    def _receive(self):
        text = b""
        while True:
            first, second = self._exactly(2)
            size = second & 0x7F
            if size == 126:
                (size,) = struct.unpack(">H", self._exactly(2))
            elif size == 127:
                (size,) = struct.unpack(">Q", self._exactly(8))
            payload = self._exactly(size)
            kind = first & 0x0F
            if kind == _PING:
                self._send(_PONG, payload)
                continue
            if kind == _CLOSE:
                raise ConnectionError("the server closed the connection")
            text += payload
            if first & 0x80:
                return text

    def _exactly(self, size):
        data = b""
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            if not piece:
                raise ConnectionError("the server has disconnected")
            data += piece
        return data
