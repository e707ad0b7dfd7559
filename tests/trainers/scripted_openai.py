"""A chat-completions server that replays the replies of a test: ``with scripted_openai(replies) as (url, requests)``."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Union

Reply = Union[str, dict[str, Any]]
"""A text, or ``{"name", "arguments"}`` of a tool call."""


@contextlib.contextmanager
def scripted_openai(replies: Sequence[Reply]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serves on a free port of loopback. The reply is chosen by the number of earlier ones in the request.

    Yields the base URL of the API and the bodies of the requests.
    """
    requests: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            requests.append(body)
            turn = sum(message["role"] == "assistant" for message in body["messages"])
            completion = _completion(body["model"], replies[turn], turn)
            if body.get("stream"):
                self._send("text/event-stream", b"".join(_events(completion)))
            else:
                self._send("application/json", json.dumps(completion).encode())

        def _send(self, kind: str, contents: bytes) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(contents)))
            self.end_headers()
            self.wfile.write(contents)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", requests
    finally:
        server.shutdown()
        server.server_close()


def _completion(model: str, reply: Reply, turn: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply if isinstance(reply, str) else None}
    if not isinstance(reply, str):
        function = {"name": reply["name"], "arguments": json.dumps(reply["arguments"])}
        message["tool_calls"] = [{"id": f"call_{turn}", "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "finish_reason": "stop" if isinstance(reply, str) else "tool_calls"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {"id": f"chat-{turn}", "object": "chat.completion", "created": 1, "model": model, "choices": [choice], "usage": usage}


def _events(completion: dict[str, Any]) -> Iterator[bytes]:
    """Returns a completion as a stream of one piece, its end and its usage."""
    [choice] = completion["choices"]
    calls = [{"index": at, **call} for at, call in enumerate(choice["message"].get("tool_calls", []))]
    delta = {**choice["message"], **({"tool_calls": calls} if calls else {})}
    chunk = {**completion, "object": "chat.completion.chunk", "usage": None}
    pieces = [
        {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]},
        {**chunk, "choices": [], "usage": completion["usage"]},
    ]
    for piece in pieces:
        yield f"data: {json.dumps(piece)}\n\n".encode()
    yield b"data: [DONE]\n\n"
