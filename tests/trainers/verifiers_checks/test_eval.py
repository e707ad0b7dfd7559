"""``vf-eval`` with the configurations of ``docs/agents.md`` and a model server with fixed replies."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from recipes import block
from scripted_openai import scripted_openai


def evaluate(folder: Path, config: str, replies: list[Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Runs an evaluation. Returns the requests to the model and the episodes."""
    with scripted_openai(replies) as (url, requests):
        (folder / "run.toml").write_text(config.replace("http://127.0.0.1:8000/v1", url))
        environment = {**os.environ, "OPENAI_API_KEY": "none", "PYTHONPATH": f"{folder}:{os.environ['PYTHONPATH']}"}
        command = ["vf-eval", "@", "run.toml", "--run.name", "run", "--no-push", "--no-rich"]
        result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
        assert result.returncode == 0, result.stdout + result.stderr
    lines = (folder / "outputs" / "run" / "traces.jsonl").read_text().splitlines()
    return requests, [json.loads(line) for line in lines]


def test_the_openenv_taskset_steps_a_server_until_the_turn_limit(tmp_path: Path) -> None:
    config = block("verifiers", "toml", "openenv", page="agents")
    replies = [json.dumps({"code": "x = 6"}), "```\nprint(x * 7)\n```", "print(x + 1)", "print(x + 2)"]
    replies += ["print(x)"] * 10
    requests, [episode] = evaluate(tmp_path, config, replies)
    observations = [json.loads(request["messages"][-1]["content"])["observation"]["stdout"] for request in requests]
    assert observations[:4] == ["", "", "42\n", "7\n"]
    assert len(observations) == 8  # max_turns
    [trace] = episode["traces"]
    # each of the eight programs is stepped, and OpenEnv's coding env gives 0.1 for a short one
    assert trace["rewards"]["openenv_reward"]["score"] == pytest.approx(0.8)
    assert trace["errors"] == []


@pytest.mark.parametrize(("reply", "reward"), [("The answer is \\boxed{42}.", 1.0), ("The answer is \\boxed{41}.", 0.0)])
def test_a_taskset_with_the_tools_of_the_server_and_one_of_its_graders(tmp_path: Path, reply: str, reward: float) -> None:
    (tmp_path / "paddock_math.py").write_text(block("verifiers", "python", page="agents"))
    config = block("verifiers", "toml", "paddock_math", page="agents")
    replies: list[Any] = [
        {"name": "toolset_run_python_code", "arguments": {"python_code": "x = 6"}},
        {"name": "toolset_run_python_code", "arguments": {"python_code": "x * 7"}},
        reply,
    ]
    requests, [episode] = evaluate(tmp_path, config, replies)
    names = [tool["function"]["name"] for tool in requests[0]["tools"]]
    assert "toolset_run_python_code" in names, names
    assert "42" in str(requests[2]["messages"][-1]["content"])
    [trace] = episode["traces"]
    assert (trace["rewards"]["correct"]["score"], trace["errors"]) == (reward, [])
