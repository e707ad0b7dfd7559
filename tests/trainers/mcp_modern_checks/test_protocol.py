"""Clients of protocol 2026-07-28 against `/mcp`, and Paddock's client against a server of mcp 2.3.0."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import fastmcp
import mcp
import pytest
from recipes import block
from scripted_openai import scripted_openai

URL = f"{os.environ['PADDOCK_URL']}/mcp"
HERE = Path(__file__).parent


async def run(client: Any, code: str, session: str | None = None) -> Any:
    return await client.call_tool("run_python_code", {"python_code": code, **({"session": session} if session else {})})


def text_of(result: Any) -> str:
    return "\n".join(block.text for block in result.content)


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("2026-07-28", "2026-07-28"), ("legacy", "2025-11-25")])
def test_mcp_keeps_variables_in_each_mode(mode: str, version: str) -> None:
    async def use() -> None:
        async with mcp.Client(URL, mode=mode) as client:
            first = await run(client, "x = 6")
            session = (first.meta or {}).get("paddock/session")
            assert (session is not None) == (version == "2026-07-28")
            assert session is None or f"session: {session}" in text_of(first)
            assert client.protocol_version == version
            assert "42" in text_of(await run(client, "x * 7", session))

    asyncio.run(use())


def test_a_pinned_client_lists_tools_with_the_handle() -> None:
    async def use() -> None:
        async with mcp.Client(URL, mode="2026-07-28") as client:
            tools = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
            assert set(tools) == {"run_python_code", "reset_session", "read_file", "write_file", "list_files"}
            assert "session" in tools["run_python_code"]["properties"]
            assert "session" in tools["read_file"]["required"]
            wrong = await run(client, "1", "0" * 16)
            assert wrong.is_error and "has ended or never existed" in text_of(wrong)

    asyncio.run(use())


def test_more_handles_than_sessions_of_the_server() -> None:
    async def use() -> None:
        async with mcp.Client(URL) as client:

            async def episode(number: int) -> list[str]:
                session = (await run(client, f"x = {number}")).meta["paddock/session"]
                return [text_of(await run(client, "x += 1; x", session)).split("\n")[2] for _ in range(3)]

            found = await asyncio.gather(*map(episode, range(12)))
            assert found == [[str(number + more) for more in (1, 2, 3)] for number in range(12)]

    asyncio.run(use())


def test_fastmcp() -> None:
    async def use() -> None:
        async with fastmcp.Client(URL) as client:
            first = await run(client, "x = 6")
            assert "42" in text_of(await run(client, "x * 7", first.meta["paddock/session"]))

    asyncio.run(use())


def test_the_recipe_of_the_openai_agents_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    names: dict[str, Any] = {"__name__": "recipe"}
    calls = [{"name": "run_python_code", "arguments": {"python_code": code}} for code in ("x = 6", "x * 7")]
    with scripted_openai([*calls, "The answer is 42."]) as (url, requests):
        exec(block("OpenAI Agents SDK", "python", page="agents").replace("http://127.0.0.1:8000/v1", url), names)
        assert asyncio.run(names["main"]()) == "The answer is 42."
    results = [str(message["content"]) for message in requests[-1]["messages"] if message["role"] == "tool"]
    assert len(results) == 2 and "42" in results[1], results


def test_paddock_gives_the_model_results_that_other_clients_refuse() -> None:
    calls = [
        ["book", {"phone": "555-1234", "at": "2024-01-01T10:00:00", "lasts": "PT1.5S"}],
        ["book", {"phone": "555-1234", "at": "2024-01-01", "lasts": "-P1D"}],
        ["mean", {}],
        ["count", {}],
        ["words", {}],
        ["find", {}],
        ["book", {"phone": "5551234"}],
    ]
    command = ["deno", "run", "-A", "call_tools.ts", sys.executable, str(HERE / "server.py"), json.dumps(calls)]
    result = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=180)
    assert result.returncode == 0, result.stderr
    printed = json.loads(result.stdout)
    assert printed["names"] == ["odd.book", "odd.mean", "odd.count", "odd.words", "odd.find"]
    booked, negative, mean, count, words, find, refused = printed["texts"]
    assert json.loads(booked) == {
        "at": "2024-01-01T10:00:00", "clock": "10:00:00", "lasts": "PT1.5S", "day": "2024-01-01", "price": 19.99, "note": None,
    }  # fmt: skip
    assert json.loads(negative)["lasts"] == "-P1D"
    assert "mean" in mean
    assert (count, words) == ("2", "a\nb")
    assert find.startswith("ToolError: ") and "find" in find
    assert refused.startswith("ToolError: ") and "phone" in refused
