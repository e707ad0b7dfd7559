"""Runs an episode with the env of the docs as TRL does: one instance, reset, then tool calls."""

import inspect

from readme_block import PythonEnv

env = PythonEnv()
tools = [name for name, _ in inspect.getmembers(env, inspect.ismethod) if not name.startswith("_") and name != "reset"]
assert tools == ["run_python"], tools
assert "Args:" in env.run_python.__doc__
assert env.reset(prompt="What is 6 times 7?", answer="42") is None
assert env.run_python("x = 6") == ""
assert env.run_python("print(x * 7)") == "42\n"
assert "ZeroDivisionError" in env.run_python("1 / 0")
env.reset()
assert "NameError" in env.run_python("x")
print("played")
