"""``GRPOTrainer`` with ``paddock.trl.PaddockEnv``. The test writes the replies in place of the model."""

import functools
import json
import os
import re
import threading
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from recipes import block
from serving import serve
from tiny_model import tiny_model, tiny_tokenizer
from trl import GRPOConfig, GRPOTrainer

from paddock import PaddockError
from paddock.trl import PaddockEnv

GENERATIONS = 32
STEPS = 40
PROGRAMS = [
    "print({n} ** 2 + 7)",
    "import math\nmath.isqrt(({n} ** 2 + 7) ** 2)",
    "x = {n}\nx * x + 7",
    "print(*(i for i in range({n} ** 2 + 8) if i == {n} ** 2 + 7))",
]


def answer(n: int) -> str:
    return str(n**2 + 7)


class WritesReplies(GRPOTrainer):
    """Trainer whose model calls the tool once and then replies with its result."""

    def _generate_single_turn(self, prompt_ids: list[list[int]], *_: Any, **__: Any) -> tuple[list[list[int]], Any]:
        texts = self.processing_class.batch_decode(prompt_ids)
        replies = [self.processing_class(reply(text) + "<|im_end|>")["input_ids"] for text in texts]
        logprobs = [[-1.0] * len(ids) for ids in replies]
        return replies, (logprobs if self.use_vllm else None)


def reply(prompt: str) -> str:
    if found := re.findall(r"<tool_response>\n(.*?)\n</tool_response>", prompt, re.DOTALL):
        return f"The result is {found[-1]}"
    n = int(re.findall(r"Task (\d+)", prompt)[-1])
    call = {"name": "run_python", "arguments": {"code": PROGRAMS[n % len(PROGRAMS)].format(n=n)}}
    return f"<tool_call>\n{json.dumps(call)}\n</tool_call>"


def train(folder: Path, environment: Any, steps: int, generations: int) -> tuple[list[float], GRPOTrainer]:
    """Trains for some steps. Returns the score of each generation, and the trainer."""
    scores: list[float] = []

    def score(completions: list[Any], n: list[int], **_: Any) -> list[float]:
        given = [float(completion[-1]["content"].split()[-1] == answer(each)) for completion, each in zip(completions, n)]
        scores.extend(given)
        return given

    tokenizer = tiny_tokenizer((files("trl") / "chat_templates" / "qwen3.jinja").read_text())
    rows = [{"prompt": [{"role": "user", "content": f"Task {n}"}], "n": n} for n in range(steps * generations // 4)]
    trainer = WritesReplies(
        model=tiny_model(tokenizer),
        processing_class=tokenizer,
        reward_funcs=score,
        train_dataset=Dataset.from_list(rows),
        environment_factory=environment,
        args=GRPOConfig(
            output_dir=str(folder),
            per_device_train_batch_size=generations,
            num_generations=4,
            max_completion_length=400,
            max_steps=steps,
            use_cpu=True,
            bf16=False,
            report_to=[],
            save_strategy="no",
            logging_steps=1,
            disable_tqdm=True,
        ),
    )
    before = [weight.clone() for weight in trainer.model.parameters()]
    trainer.train()
    assert all(torch.isfinite(weight).all() for weight in trainer.model.parameters()), before
    return scores, trainer


def test_1280_programs_of_a_training_are_all_right(tmp_path: Path) -> None:
    recipe: dict[str, Any] = {}
    exec(block("TRL", "python"), recipe)
    scores, trainer = train(tmp_path, recipe["environment_factory"], STEPS, GENERATIONS)
    assert len(scores) == 1280
    assert sum(scores) / len(scores) == 1.0
    logs = [log for log in trainer.state.log_history if "tools/call_frequency" in log]
    assert len(logs) == STEPS
    assert all(log["tools/call_frequency"] == 1.0 and log["tools/failure_frequency"] == 0.0 for log in logs)


def test_variables_last_until_the_reset() -> None:
    env = PaddockEnv(os.environ["PADDOCK_URL"], max_characters=100)
    with pytest.raises(PaddockError, match="'reset' must be called first"):
        env.run_python("1")
    assert env.reset(prompt="What is 6 times 7?") is None
    assert env.run_python("x = 6") == ""
    assert env.run_python("print(x); x * 7") == "6\n42"
    assert "ZeroDivisionError" in env.run_python("1 / 0")
    assert env.run_python("import sys; sys.exit(3)").startswith("The program exited with code 3.")
    assert "1900 characters are left out" in env.run_python("print('a' * 1999)")
    env.reset()
    assert "NameError" in env.run_python("x")


def test_a_session_that_has_ended_is_opened_again_at_reset() -> None:
    env = PaddockEnv(os.environ["PADDOCK_URL"])
    env.reset()
    env._client._request("DELETE", f"/sessions/{env._sessions[0].id}")
    env.reset()
    assert env.run_python("1 + 1") == "2"


def test_reset_fails_after_its_wait_and_says_how_many_sessions_to_allow(tmp_path: Path) -> None:
    with serve("--max-sessions", "3", "--hibernate-memory", "0") as url:
        environment = functools.partial(PaddockEnv, url=url, wait=5)
        with pytest.raises(PaddockError, match=r"--max-sessions \d+ or more, times the number of processes"):
            train(tmp_path, environment, 1, 4)


def test_reset_waits_until_a_session_is_free() -> None:
    with serve("--max-sessions", "1", "--hibernate-memory", "0") as url:
        first, second = PaddockEnv(url), PaddockEnv(url, wait=60)
        first.reset()
        threading.Timer(3, first._sessions[0].close).start()
        second.reset()
        assert second.run_python("2 + 2") == "4"
