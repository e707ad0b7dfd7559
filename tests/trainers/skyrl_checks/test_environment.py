"""The environment of ``docs/trainers.md`` in skyrl-gym's registry."""

from pathlib import Path

import pytest
import skyrl_gym
from omegaconf import DictConfig
from recipes import block
from skyrl_gym.envs.registration import deregister


@pytest.fixture(autouse=True)
def registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "paddock_env.py").write_text(block("SkyRL", "python"))
    monkeypatch.syspath_prepend(str(tmp_path))
    skyrl_gym.register(id="paddock", entry_point="paddock_env:PaddockEnv")
    yield
    deregister("paddock")


def test_an_episode_of_two_programs_and_an_answer() -> None:
    extras = {"reward_spec": {"ground_truth": "42"}, "max_turns": 4}
    env = skyrl_gym.make("paddock", env_config=DictConfig({}), extras=extras)
    prompt, _ = env.init([{"role": "user", "content": "What is 6 times 7?"}])
    assert prompt[0]["content"] == "What is 6 times 7?"
    first = env.step("```python\nx = 6\nprint(x)\n```")
    assert (first["observations"][0]["content"], first["done"]) == ("6\n", False)
    second = env.step("```python\nx * 7\n```")
    assert second["observations"][0]["content"] == "42"
    assert "ZeroDivisionError" in env.step("```python\n1 / 0\n```")["observations"][0]["content"]
    last = env.step("The answer is \\boxed{42}.")
    assert (last["reward"], last["done"], last["metadata"]) == (1.0, True, {"is_graded": True})
    env.close()


def test_an_episode_ends_at_its_last_turn() -> None:
    env = skyrl_gym.make("paddock", env_config=DictConfig({}), extras={"reward_spec": {"ground_truth": "7"}, "max_turns": 1})
    output = env.step("```python\n1\n```")
    assert (output["reward"], output["done"]) == (0.0, True)
    env.close()
