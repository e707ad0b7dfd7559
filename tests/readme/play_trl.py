"""Runs an episode with the factory of the docs as TRL does: instances, resets, then tool calls."""

import inspect

from readme_block import environment_factory

env = environment_factory()
public = [name for name, _ in inspect.getmembers(type(env), inspect.isfunction) if not name.startswith("_")]
assert public == ["reset", "run_python"], public
assert "Args:" in env.run_python.__doc__
assert env.reset(prompt="What is 6 times 7?", answer="42") is None
assert env.run_python("x = 6") == ""
assert env.run_python("print(x); x * 7") == "6\n42"
assert "ZeroDivisionError" in env.run_python("1 / 0")
assert env.run_python("raise SystemExit(3)").startswith("The program exited with code 3.")
env.reset()
assert "NameError" in env.run_python("x")
print("played")
