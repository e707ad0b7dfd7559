"""Describes the environment of a user's file, and calls its functions for one episode."""

import paddock_grading as grading
from paddock_tool_functions import describe_tools
from paddock_user_file import (
    ACTIONS,
    CONTRACTS,
    Problem,
    call_by_names,
    functions_of,
    line_of,
    require_parameters,
    shown,
    user_module,
)

_HOOKS = ("reset", "step", "reward")
_RESET_VALUES = ("task", "query", "answer", "fields", "seed")
_STEP_VALUES = ("reply", "messages", "turn", "task", "query", "answer", "fields")
_STEP = "None to end the episode, the text of the next message, or a dict with 'message', 'reward' and 'done'"


def _env_contract(module):
    if hasattr(module, "setup"):
        raise Problem("the function that starts an episode must be called 'reset': found 'setup'", line_of(module.setup))
    hooks = [name for name in _HOOKS if hasattr(module, name)]
    for name in hooks:
        function = getattr(module, name)
        if not callable(function):
            raise Problem(f"'{name}' must be a function: found {shown(function)}")
        require_parameters(function, name)
    tools = describe_tools(module) if hasattr(module, "tools") else []
    if not hooks and not tools:
        found = ", ".join(f"{each}()" for each in functions_of(module)) or "no function"
        raise Problem(f"it must define one of reset(), step(), reward() and a list 'tools': found {found}")
    system = getattr(module, "system", None)
    if system is not None and not isinstance(system, str):
        raise Problem(f"'system' must be the text of the system message: found {shown(system)}")
    python = getattr(module, "python", False)
    if not isinstance(python, bool):
        raise Problem(f"'python' must be True if code blocks of replies run, else False: found {shown(python)}")
    return {"hooks": hooks, "tools": tools, "system": system, "python": python}


def _reset(request):
    function = user_module().reset
    values = request["values"]
    value = call_by_names(function, "reset", values, values["fields"], _RESET_VALUES)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and value and all(_is_message(each) for each in value):
        return [{"role": each["role"], "content": each["content"]} for each in value]
    raise Problem(
        "reset() must return None, the text of the query, or a list of messages with 'role' and 'content': it returned "
        f"{shown(value)}",
        line_of(function),
    )


def _is_message(value):
    return isinstance(value, dict) and all(isinstance(value.get(key), str) for key in ("role", "content"))


def _step(request):
    function = user_module().step
    values = request["values"]
    line = line_of(function)
    value = call_by_names(function, "step", values, values["fields"], _STEP_VALUES)
    if value is None:
        return {"message": None, "reward": None, "done": True}
    if isinstance(value, str):
        return {"message": value, "reward": None, "done": False}
    if not isinstance(value, dict):
        raise Problem(f"step() must return {_STEP}: it returned {shown(value)}", line)
    message = value.get("message")
    if message is not None and not isinstance(message, str):
        raise Problem(f"'message' of the dict that step() returns must be a text: it is {shown(message)}", line)
    done = value.get("done", message is None)
    if not isinstance(done, bool):
        raise Problem(f"'done' of the dict that step() returns must be True or False: it is {shown(done)}", line)
    if not done and message is None:
        raise Problem("the dict that step() returns must have 'message', or 'done' that is True: it has neither", line)
    numbers = {
        key: grading.number_of(each, f"'{key}' of the dict that step() returns must be a number or None: it is", line)
        for key, each in value.items()
        if key not in ("message", "done")
    }
    reward = numbers.pop("reward", None)
    return {"message": message, "reward": reward, "done": done, "parts": numbers}


CONTRACTS["env"] = _env_contract
ACTIONS["reset"] = _reset
ACTIONS["step"] = _step
