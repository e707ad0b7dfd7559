"""The recipes of agents that use ``/mcp`` or ``paddock mcp``, with a model server that replays tool calls."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from langchain_mcp_adapters.client import MultiServerMCPClient
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from recipes import block
from scripted_openai import scripted_openai

REPLIES: list[Any] = [
    {"name": "run_python_code", "arguments": {"python_code": "x = 6"}},
    {"name": "run_python_code", "arguments": {"python_code": "print(x * 7)"}},
    {"name": "run_python_code", "arguments": {"python_code": "x / 0"}},
    "The answer is 42.",
]
"""Variables must be kept from call to call, and an error must reach the model."""


def check(requests: list[dict[str, Any]]) -> None:
    names = {tool["function"]["name"] for tool in requests[0]["tools"]}
    assert names >= {"run_python_code", "reset_session", "read_file", "write_file", "list_files"}
    results = [str(message["content"]) for message in requests[-1]["messages"] if message["role"] == "tool"]
    assert len(requests) == 4 and len(results) == 3
    assert "42" in results[1], results
    assert "ZeroDivisionError" in results[2], results


def run_python(heading: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Runs the recipe of a section, with the replies. Returns its names."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    names: dict[str, Any] = {"__name__": "recipe"}
    with scripted_openai(REPLIES) as (url, requests):
        exec(block(heading, "python", page="agents").replace("http://127.0.0.1:8000/v1", url), names)
        names["answer"] = asyncio.run(names["main"]())
    check(requests)
    return names


@pytest.mark.parametrize("heading", ["OpenAI Agents SDK", "LangChain"])
def test_a_python_recipe(heading: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_python(heading, monkeypatch)["answer"] == "The answer is 42."


def test_get_tools_of_langchain_opens_a_session_for_each_call() -> None:
    client = MultiServerMCPClient({"python": {"transport": "streamable_http", "url": f"{os.environ['PADDOCK_URL']}/mcp"}})

    async def call_twice() -> str:
        [run] = [tool for tool in await client.get_tools() if tool.name == "run_python_code"]
        await run.ainvoke({"python_code": "x = 6"})
        return str(await run.ainvoke({"python_code": "x"}))

    assert "NameError" in asyncio.run(call_twice())


def test_the_recipe_of_the_ai_sdk(tmp_path: Path) -> None:
    here = Path(__file__).parent / "ai_sdk"
    for name in ("package.json", "package-lock.json"):
        shutil.copy(here / name, tmp_path)
    subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=tmp_path, check=True, timeout=300)
    with scripted_openai(REPLIES) as (url, requests):
        program = block("Vercel AI SDK", "ts ignore", page="agents").replace("http://127.0.0.1:8000/v1", url)
        (tmp_path / "program.mts").write_text(program)
        command = ["deno", "run", "-A", "--no-lock", "--node-modules-dir=manual", "program.mts"]
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (result.returncode, result.stdout) == (0, "The answer is 42.\n"), result.stderr
    check(requests)


async def use(session: ClientSession) -> None:
    await session.initialize()
    await session.call_tool("run_python_code", {"python_code": "x = 6"})
    result = await session.call_tool("run_python_code", {"python_code": "print(x * 7)"})
    assert "42" in str(result.content)


@pytest.mark.parametrize("heading", ["Without a server", "Claude and Cursor"])
def test_the_configurations_of_claude_and_cursor(heading: str) -> None:
    [server] = json.loads(block(heading, "json", page="agents"))["mcpServers"].values()

    async def connect() -> None:
        if "url" in server:
            async with streamablehttp_client(server["url"]) as (read, write, _), ClientSession(read, write) as session:
                return await use(session)
        args = [argument.replace("/path/to/paddock", os.environ["PADDOCK_ROOT"]) for argument in server["args"]]
        parameters = StdioServerParameters(command=server["command"], args=args, env=dict(os.environ))
        async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
            await use(session)

    asyncio.run(connect())
