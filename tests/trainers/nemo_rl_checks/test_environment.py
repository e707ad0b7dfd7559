"""The environment of ``docs/trainers.md`` as an actor that NeMo-RL creates."""

import os
import sys
from pathlib import Path

import pytest
from recipes import block

sys.path.insert(0, os.environ["CHECKOUT_NEMO_RL"])

import ray  # noqa: E402
import torch  # noqa: E402


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "paddock_environment.py").write_text(block("NeMo-RL", "python"))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    path = os.pathsep.join([str(tmp_path), os.environ["CHECKOUT_NEMO_RL"], os.environ["PYTHONPATH"]])
    monkeypatch.setenv("PYTHONPATH", path)
    ray.init(num_cpus=1, object_store_memory=128 << 20, include_dashboard=False)
    yield tmp_path
    ray.shutdown()


def log(answer: str) -> list[dict[str, object]]:
    reply = {"role": "assistant", "content": answer, "token_ids": torch.tensor([1])}
    return [{"role": "user", "content": "What is 6 times 7?", "token_ids": torch.tensor([0])}, reply]


def test_200_replies_of_a_batch_are_graded(folder: Path) -> None:
    import paddock_environment  # noqa: F401
    from nemo_rl.environments.utils import create_env

    env = create_env("paddock", {"url": os.environ["PADDOCK_URL"], "grader": "math"})
    logs = [log(f"\\boxed{{{n % 2}}}") for n in range(200)]
    returned = ray.get(env.step.remote(logs, [{"ground_truth": "1"}] * 200))
    assert returned.rewards.tolist() == [n % 2 for n in range(200)]
    assert returned.terminateds.sum() == 200
    assert len(returned.observations) == len(returned.next_stop_strings) == 200
    batch, metrics = ray.get(env.global_post_process_and_metrics.remote({"total_reward": returned.rewards}))
    assert metrics == {"mean_reward": 0.5}
