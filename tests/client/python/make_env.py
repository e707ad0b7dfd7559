import sys

import paddock

client = paddock.Client(sys.argv[1])

with paddock.make_env("paddock/graph-paths", client=client, difficulty=3) as env:
    observation, info = env.reset(seed=7)
    assert info == {"task_id": "paddock/graph-paths:1:3:train:7:0"}, info
    assert "shortest path" in observation["messages"][0]["content"]
    again, _ = env.reset(seed=7)
    assert again == observation
    observation, reward, terminated, truncated, info = env.step("<answer>A -> B</answer>")
    assert (reward, terminated, truncated) == (0, True, False)
    assert info["reward_parts"]["family"] == 0
    first, second = env.tasks(2, split="test")
    assert first["fields"]["difficulty"] == 3 and first["query"] != second["query"]
    _, info = env.reset(task=first)
    assert info == {"task_id": "paddock/graph-paths:1:3:test:0:0"}, info
env.close()

with paddock.make_env("paddock/state-machines", client=client) as env:
    observation, _ = env.reset(seed=1)
    assert [tool["name"] for tool in observation["tools"]] == ["press", "restart"]
    step = env.step('<tool>press\n{"button": "A"}</tool>')
    assert step[1:4] == (None, False, False)

try:
    paddock.make_env("paddock/graph-paths", client=client, difficulty=11)
except paddock.PaddockError as error:
    assert error.status == 422, error
else:
    raise AssertionError("a difficulty of 11 is accepted")

print("make_env is checked")
