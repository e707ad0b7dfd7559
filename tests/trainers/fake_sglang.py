"""A model server with the requests of SGLang's ``/generate``, whose model calls the tool and then answers."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def fake_sglang(tokenizer: Any, reply: Callable[[str], str]) -> Iterator[int]:
    """Serves replies to prompts on a free port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            text = reply(tokenizer.decode(body["input_ids"])) + "<|im_end|>"
            ids = tokenizer.encode(text, add_special_tokens=False)[: body["sampling_params"]["max_new_tokens"]]
            is_whole = tokenizer.decode(ids) == text
            meta_info = {
                "finish_reason": {"type": "stop" if is_whole else "length"},
                "output_token_logprobs": [[-0.5, token, None] for token in ids],
                "prompt_tokens": len(body["input_ids"]),
                "cached_tokens": 0,
            }
            self._send({"text": tokenizer.decode(ids), "meta_info": meta_info})

        def do_GET(self) -> None:
            self._send({"workers": []})

        def _send(self, answer: Any) -> None:
            data = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 1024

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def last_response(prompt: str) -> str | None:
    """Returns the last result of a tool in a prompt."""
    found = re.findall(r"<tool_response>\n(.*?)\n</tool_response>", prompt, re.DOTALL)
    return found[-1] if found else None
