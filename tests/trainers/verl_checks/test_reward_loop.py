"""verl's reward loop with its own workers, at its own load."""

import json
import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import ray
import torch
from tensordict import TensorDict
from verl import DataProto
from verl.experimental.reward_loop import RewardLoopManager, migrate_legacy_reward_impl
from verl.utils.reward_score import default_compute_score
from verl_setup import configuration, recipe, save_model

PROGRAMS = 1_280
WORKERS = 8
REQUESTS = 64
CASES = 10
"""Test cases of a program in the test of the reward loop. Its workers score only a few programs at once."""


def program(n: int, cases: int) -> tuple[str, dict[str, object]]:
    """Returns a correct program, and its test cases in one of verl's formats."""
    numbers = range(n, n + cases)
    squares = [str(k * k) for k in numbers]
    inputs = [str(k) for k in numbers]
    return [
        (f"print(int(input()) ** 2)", {"inputs": inputs, "outputs": squares}),
        (f"def square(k):\n    return k * k", {"fn_name": "square", "inputs": inputs, "outputs": squares}),
        ("class Solution:\n    def square(self, k):\n        return k * k", {"fn_name": "square", "inputs": inputs, "outputs": squares}),
        ("def square(k):\n    return k * k", {"assert_case": [f"assert square({k}) == {k * k}" for k in numbers]}),
    ][n % 4]


def batch(tokenizer_folder: str, count: int) -> DataProto:
    """Returns replies as verl's rollouts give them to the reward loop."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder)
    programs = [program(n, CASES) for n in range(count)]
    replies = [tokenizer(f"```python\n{code}\n```<|im_end|>")["input_ids"] for code, _ in programs]
    length = max(map(len, replies))
    responses = torch.tensor([ids + [tokenizer.pad_token_id] * (length - len(ids)) for ids in replies])
    mask = torch.tensor([[1] * len(ids) + [0] * (length - len(ids)) for ids in replies])
    prompts = torch.ones((count, 1), dtype=torch.long)
    tensors = {
        "prompts": prompts,
        "responses": responses,
        "attention_mask": torch.cat([prompts, mask], dim=1),
        "response_mask": mask,
    }
    values = {
        "data_source": np.array(["codecontests"] * count, dtype=object),
        "reward_model": np.array([{"ground_truth": json.dumps(tests)} for _, tests in programs], dtype=object),
        "extra_info": np.array([{} for _ in programs], dtype=object),
    }
    return DataProto(batch=TensorDict(tensors, batch_size=count), non_tensor_batch=values)


def test_the_reward_loop_with_its_8_workers_has_a_mean_of_1(tmp_path: Path) -> None:
    model = save_model(tmp_path)
    config = migrate_legacy_reward_impl(configuration(model, recipe("sandbox_fusion.url")))
    assert (config.reward.num_workers, config.reward.sandbox_fusion.max_concurrent) == (WORKERS, REQUESTS)
    os.environ["RAY_AUTH_MODE"] = "disabled"
    ray.init(num_cpus=WORKERS, object_store_memory=256 << 20, include_dashboard=False, log_to_driver=False)
    try:
        manager = RewardLoopManager(config)
        scored = manager.compute_rm_score(batch(model, PROGRAMS // CASES))
    finally:
        ray.shutdown()
    assert scored.batch["rm_scores"].sum(dim=-1).tolist() == [1.0] * (PROGRAMS // CASES)


def score_share(options: dict[str, Any], first: int) -> list[float]:
    """Scores the programs of one worker, with all of its requests at once."""
    semaphore = threading.Semaphore(REQUESTS)

    def score(n: int) -> float:
        code, tests = program(n, 1)
        reply = f"```python\n{code}\n```"
        return default_compute_score("codecontests", reply, json.dumps(tests), concurrent_semaphore=semaphore, **options)

    with ThreadPoolExecutor(REQUESTS) as threads:
        return list(threads.map(score, range(first, PROGRAMS, WORKERS)))


def test_1280_correct_programs_sent_by_8_workers_with_64_requests_each_have_a_mean_of_1() -> None:
    options = {"sandbox_fusion_url": os.environ["PADDOCK_URL"] + "/run_code", "memory_limit_mb": 1024}
    with ProcessPoolExecutor(WORKERS, multiprocessing.get_context("fork")) as workers:
        scores = [score for share in workers.map(partial(score_share, options), range(WORKERS)) for score in share]
    assert len(scores) == PROGRAMS
    assert sum(scores) / PROGRAMS == 1.0
