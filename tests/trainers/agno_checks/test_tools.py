"""``E2BTools`` of agno: each of its functions, and an agent that calls some of them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agno.agent import Agent
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.tools.e2b import E2BTools

URL = os.environ["PADDOCK_URL"]
os.environ.update(E2B_API_URL=URL, E2B_SANDBOX_URL=URL, E2B_API_KEY="e2b_" + "0" * 40)


@pytest.fixture
def tools() -> Iterator[E2BTools]:
    tools = E2BTools(timeout=120)
    yield tools
    tools.shutdown_sandbox()


def test_code_runs_in_a_notebook(tools: E2BTools) -> None:
    assert "stdout: ['42" in tools.run_python_code("x = 6\nprint(x * 7)")
    assert "36" in tools.run_python_code("x * x")
    error = tools.run_python_code("1 / 0")
    assert error.startswith("Error: ZeroDivisionError\ndivision by zero\nTraceback")


def test_files_go_in_and_out(tools: E2BTools, tmp_path: Path) -> None:
    (tmp_path / "up.txt").write_text("hällo\n")
    assert tools.upload_file(str(tmp_path / "up.txt")) == "/home/user/up.txt"
    assert tools.write_file_content("/home/user/w.txt", "w") == "/home/user/w.txt"
    assert tools.read_file_content("/home/user/up.txt") == "hällo\n"
    assert tools.list_files("/home/user") == "Contents of /home/user:\n- up.txt (File, 7 bytes)\n- w.txt (File, 1 bytes)\n"
    assert json.loads(tools.read_file_content("/home/user/missing"))["status"] == "error"


def test_a_file_is_downloaded(tools: E2BTools, tmp_path: Path) -> None:
    tools.write_file_content("/home/user/w.txt", "w")
    tools.download_file_from_sandbox("/home/user/w.txt", str(tmp_path / "w.txt"))
    assert (tmp_path / "w.txt").read_text() == "w"


def test_commands(tools: E2BTools) -> None:
    tools.write_file_content("/home/user/a.txt", "one\ntwo\n")
    assert json.loads(tools.run_command("grep -n two /home/user/a.txt")) == ["STDOUT:\n2:two\n"]
    assert "bash: line 1: nope: command not found" in tools.run_command("nope")
    assert json.loads(tools.run_command("bash -lc 'set -euo pipefail; echo a; echo b >&2'")) == ["STDOUT:\na\n", "STDERR:\nb\n"]
    assert "STDOUT: s" in tools.stream_command("echo s")


def test_a_command_in_the_background_is_ended(tools: E2BTools) -> None:
    handle: Any = tools.run_background_command("sleep 60; echo late")
    assert handle.pid > 0
    assert "error" not in str(tools.kill_background_command(handle)).lower()


def test_the_sandbox_itself(tools: E2BTools) -> None:
    assert tools.set_sandbox_timeout(60) == "60"
    assert "8080" in tools.get_public_url(8080)
    assert json.loads(E2BTools(timeout=60).shutdown_sandbox())["status"] == "success"


def test_running_sandboxes_are_listed(tools: E2BTools) -> None:
    assert tools.sandbox.sandbox_id in tools.list_running_sandboxes()


def test_a_folder_is_watched(tools: E2BTools) -> None:
    assert "error" not in tools.watch_directory("/home/user", duration_seconds=1)


class ScriptedModel(Model):
    """Calls tools in turn, then answers with the output of the last one."""

    def __init__(self, *calls: tuple[str, dict[str, Any]]) -> None:
        super().__init__(id="scripted")
        self.calls = list(calls)

    def invoke(self, messages: Any, *_: Any, **__: Any) -> ModelResponse:
        if not self.calls:
            return ModelResponse(role="assistant", content=str(messages[-1].content))
        name, arguments = self.calls.pop(0)
        function = {"name": name, "arguments": json.dumps(arguments)}
        return ModelResponse(role="assistant", tool_calls=[{"id": name, "type": "function", "function": function}])

    async def ainvoke(self, *args: Any, **options: Any) -> ModelResponse:
        return self.invoke(*args, **options)

    def invoke_stream(self, *args: Any, **options: Any) -> Iterator[ModelResponse]:
        yield self.invoke(*args, **options)

    async def ainvoke_stream(self, *args: Any, **options: Any) -> Any:
        yield self.invoke(*args, **options)

    def _parse_provider_response(self, response: Any, **_: Any) -> ModelResponse:
        return response

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        return response


def test_an_agent_writes_a_program_and_runs_it(tools: E2BTools) -> None:
    path = "/home/user/words.py"
    model = ScriptedModel(
        ("write_file_content", {"file_path": path, "content": "import sys\nprint(len(sys.argv[1].split()))\n"}),
        ("run_command", {"command": f"python3 {path} 'a b c'"}),
    )
    assert "STDOUT:\\n3" in str(Agent(model=model, tools=[tools]).run("Count words.").content)
