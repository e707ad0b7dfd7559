"""Rows of a gateway in the form of a trainer, for checks: two turns of an agent, and a title that it asks for beside."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fake_sglang import fake_sglang
from paddock.gateway import Gateway
from serving import serve

TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}]


def reply(prompt: str) -> str:
    """Writes what the model samples."""
    if "title" in prompt:
        return "A sum"
    return "It is 5." if "tool_response" in prompt else '<tool_call>\n{"name": "add", "arguments": {}}\n</tool_call>'


@contextmanager
def gateway(tokenizer: Any, folder: Path) -> Iterator[Gateway]:
    """Serves a gateway before a model server that answers with ``reply``."""
    tokenizer.save_pretrained(folder)
    with fake_sglang(tokenizer, reply) as port:
        policy = f"sglang:http://127.0.0.1:{port}"
        with serve("--gateway-policy", policy, "--gateway-tokenizer", str(folder), "--max-sessions", "1") as url:
            yield Gateway(url)


def ask(key: str, url: str, messages: list[Any], tools: list[Any] | None = None) -> dict[str, Any]:
    body = {"model": "m", "max_tokens": 4096, "messages": messages, **({"tools": tools} if tools else {})}
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    request = urllib.request.Request(f"{url}/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        message: dict[str, Any] = json.load(response)["choices"][0]["message"]
        return message


def play(gateway: Gateway, sample: int, reward: float | None, with_title: bool = True) -> str:
    """Plays a session of two turns, and returns its id."""
    with gateway.session({"id": "sum", "query": "Add 2 and 3."}, sample=sample) as session:
        messages: list[Any] = [{"role": "system", "content": "You add."}, {"role": "user", "content": "Add 2 and 3."}]
        called = ask(session.key, session.openai_url, messages, TOOLS)
        [call] = called["tool_calls"]
        if with_title:
            ask(session.key, session.openai_url, [{"role": "user", "content": "Give a title."}])
        result = {"role": "tool", "tool_call_id": call["id"], "content": "5"}
        assert ask(session.key, session.openai_url, [*messages, called, result], TOOLS)["content"] == "It is 5."
        session.reward(reward)
    return session.id
