"""Function tool of verl's multi-turn rollouts: each call runs in its own Python interpreter.

verl loads this file by its path, in each worker:

    actor_rollout_ref.rollout.multi_turn.function_tool_path=/path/to/paddock/verl.py

The variables ``PADDOCK_URL``, ``PADDOCK_TOKEN`` and ``PADDOCK_TIMEOUT``, the time limit of a program in seconds, must
be set in the workers: ``+ray_kwargs.ray_init.runtime_env.env_vars.PADDOCK_URL=…``. A busy server makes a call wait.
verl reports a failed request to the model as the result of its call, and logs a warning.
"""

from __future__ import annotations

import asyncio
import functools
import os
from concurrent.futures import ThreadPoolExecutor

from verl.tools.function_tool import function_tool

from paddock._tool_text import tool_text  # absolute, as verl loads the file outside its package
from paddock.client import Client

__all__ = ["run_python"]

_MAX_CALLS = 64
_MAX_CHARACTERS = 20_000

_CALLS = ThreadPoolExecutor(_MAX_CALLS, thread_name_prefix="paddock")
"""asyncio's own executor has only a few threads, and the rest of verl uses it."""


@functools.cache
def _client() -> Client:
    return Client(os.environ.get("PADDOCK_URL", "http://127.0.0.1:8471"), os.environ.get("PADDOCK_TOKEN"))


def _run(code: str) -> str:
    timeout = os.environ.get("PADDOCK_TIMEOUT")
    return tool_text(_client().exec(code, timeout=float(timeout) if timeout else None), _MAX_CHARACTERS)


@function_tool
async def run_python(code: str) -> str:
    """
    Runs a Python program in a new interpreter. Returns what it prints and the value of its last expression, or its
    traceback.

    Args:
        code: The program.
    """
    return await asyncio.get_running_loop().run_in_executor(_CALLS, _run, code)
