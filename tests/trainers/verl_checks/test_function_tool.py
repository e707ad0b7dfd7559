"""``paddock/verl.py`` with verl's loader and its tool agent."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from verl.experimental.agent_loop.agent_loop import DictConfigWrap, ToolListWrap
from verl.experimental.agent_loop.tool_agent_loop import ToolAgentLoop
from verl.tools.tool_registry import load_all_tools
from verl.utils.dataset.rl_dataset import RLHFDataset
from verl.workers.rollout.replica import TokenOutput
from verl_setup import configuration, recipe, save_model

FILE = str(Path(os.environ["PADDOCK_ROOT"]) / "packaging" / "python" / "paddock" / "verl.py")


def call(code: str) -> str:
    arguments = {"name": "run_python", "arguments": {"code": code}}
    return f"<tool_call>\n{json.dumps(arguments)}\n</tool_call>"


class FixedReplies:
    """Server of verl whose model gives fixed replies."""

    def __init__(self, tokenizer: Any, replies: list[str]) -> None:
        self.tokenizer, self.replies, self.prompts = tokenizer, replies, []

    async def generate(self, request_id: str, *, prompt_ids: list[int], **_: Any) -> TokenOutput:
        self.prompts.append(self.tokenizer.decode(prompt_ids))
        ids = self.tokenizer(self.replies[len(self.prompts) - 1] + "<|im_end|>")["input_ids"]
        return TokenOutput(token_ids=ids, log_probs=[-1.0] * len(ids))


@pytest.fixture(scope="module")
def tools() -> list[Any]:
    return load_all_tools(None, FILE)


def test_the_loader_of_verl_finds_the_tool(tools: list[Any]) -> None:
    [tool] = tools
    schema = tool.tool_schema.model_dump(exclude_none=True, exclude_unset=True)["function"]
    assert schema["name"] == "run_python"
    assert schema["parameters"]["required"] == ["code"]
    assert asyncio.run(tool.call({"code": "print('a'); 6 * 7"})) == "a\n42"


def test_200_calls_at_once_are_all_right(tools: list[Any]) -> None:
    async def run() -> list[str]:
        return await asyncio.gather(*(tools[0].call({"code": f"print({n} ** 2)"}) for n in range(200)))

    assert asyncio.run(run()) == [f"{n**2}\n" for n in range(200)]


def test_the_tool_agent_plays_two_calls(tools: list[Any], tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    model = save_model(tmp_path)
    config = configuration(model, recipe("function_tool_path"))
    assert config.ray_kwargs.ray_init.runtime_env.env_vars.PADDOCK_URL == os.environ["PADDOCK_URL"]
    assert config.actor_rollout_ref.rollout.multi_turn.function_tool_path == FILE
    tokenizer = AutoTokenizer.from_pretrained(model)
    server = FixedReplies(tokenizer, [call("6 * 7"), call("1 / 0"), "The answer is 42."])

    async def play() -> Any:
        loop = ToolAgentLoop(
            trainer_config=DictConfigWrap(config),
            server_manager=server,
            tokenizer=tokenizer,
            processor=None,
            dataset_cls=RLHFDataset,
            data_config=DictConfigWrap(config.data),
            hf_model_type="qwen3",
            tools=ToolListWrap(tools),
        )
        return await loop.run({}, raw_prompt=[{"role": "user", "content": "What is 6 times 7?"}])

    output = asyncio.run(play())
    assert output.num_turns == 6
    assert "run_python" in server.prompts[0]
    assert "<tool_response>\n42\n</tool_response>" in server.prompts[1]
    assert "ZeroDivisionError" in server.prompts[2]
    assert output.response_mask.count(0) > 0
