"""Rows of a gateway as outputs of verl's agent loop."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gateway_rows import gateway, play
from tiny_model import tiny_tokenizer
from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopOutput
from verl_setup import CHAT_TEMPLATE


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("tokenizer")
    with gateway(tiny_tokenizer(CHAT_TEMPLATE), folder) as opened:
        play(opened, sample=1, reward=1.0)
        play(opened, sample=2, reward=None, with_title=False)
        return list(opened.rows(format="verl"))


def test_rows_have_the_fields_of_verl_and_no_others(rows: list[dict[str, Any]]) -> None:
    assert len(rows) == 3
    for row in rows:
        assert set(row) <= set(AgentLoopOutput.model_fields), set(row) - set(AgentLoopOutput.model_fields)
        assert set(row["metrics"]) <= set(AgentLoopMetrics.model_fields)
    assert len({tuple(row["extra_fields"]) for row in rows}) == 1, "verl makes a column of each field"


def test_verl_loads_a_row_as_an_output_of_its_agent_loop(rows: list[dict[str, Any]]) -> None:
    tokenizer = tiny_tokenizer(CHAT_TEMPLATE)
    output = AgentLoopOutput.model_validate(rows[0], strict=True)
    tensors = output.as_dict()
    assert tensors["responses"].shape == tensors["response_mask"].shape == tensors["rollout_log_probs"].shape
    sampled = tensors["responses"][tensors["response_mask"] == 1]
    text = tokenizer.decode(sampled)
    assert text == '<tool_call>\n{"name": "add", "arguments": {}}\n</tool_call><|im_end|>It is 5.<|im_end|>'
    assert torch.all(tensors["rollout_log_probs"][tensors["response_mask"] == 1] == -0.5)
    assert tokenizer.decode(tensors["prompts"]).endswith("Add 2 and 3.<|im_end|>\n<|im_start|>assistant\n")
    assert tensors["rm_scores"][-1] == 1.0 and tensors["rm_scores"].sum() == 1.0
    assert output.num_turns == 4, "the user, two replies and a result"


def test_verl_scores_a_row_without_a_reward_itself(rows: list[dict[str, Any]]) -> None:
    [unscored] = [row for row in rows if row["reward_score"] is None]
    assert "rm_scores" not in AgentLoopOutput.model_validate(unscored, strict=True).as_dict()
    column = np.empty(len(rows), dtype=object)
    column[:] = [row["extra_fields"]["session"] for row in rows]
    assert len(set(column)) == 2
    assert json.dumps(unscored["extra_fields"]["info"])
