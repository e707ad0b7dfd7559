"""Custom reward and custom generate function of slime.

    --custom-rm-path paddock.slime.reward
    --custom-generate-function-path paddock.slime.generate

These variables must be set in the processes of the rollout: ``PADDOCK_URL``, ``PADDOCK_TOKEN``, ``PADDOCK_GRADER``
(``math``), ``PADDOCK_MAX_TURNS`` (16) and ``PADDOCK_TIMEOUT``, the time limit of a program in seconds.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import re
from argparse import Namespace
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, Callable, Optional, TypeVar, Union

from slime.rollout.sglang_rollout import GenerateState
from slime.utils.http_utils import post
from slime.utils.types import Sample

from ._tool_text import tool_text
from .client import Client, Session

__all__ = ["TOOLS", "generate", "reward"]

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "run_python",
            "description": "Runs a Python program. Variables and files are kept for the next call.",
            "parameters": {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
        },
    }
]
"""Tools of ``generate`` for the prompt: the column of the data set that ``--tool-key`` names."""

_CALL = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)
_MAX_CALLS = 8
"""Calls of one reply that run."""
_MAX_CHARACTERS = 20_000
_T = TypeVar("_T")

_OPENING = ThreadPoolExecutor(64, thread_name_prefix="paddock-open")
"""Threads that wait for a session. They are others than those that run programs, at whose end sessions become free."""
_RUNNING = ThreadPoolExecutor(64, thread_name_prefix="paddock")


@functools.cache
def _client() -> Client:
    return Client(os.environ.get("PADDOCK_URL", "http://127.0.0.1:8471"), os.environ.get("PADDOCK_TOKEN"))


async def _in_thread(executor: Executor, function: Callable[..., _T], *args: Any) -> _T:
    return await asyncio.get_running_loop().run_in_executor(executor, function, *args)


async def reward(args: Namespace, samples: Union[Sample, list[Sample]], **_: Any) -> Union[float, list[float]]:
    """Grades a sample, or all samples of a group, with a grader of the server.

    The metadata of a sample may name its ``grader``, and have fields of its ``task``, such as ``{"fields": {"tests":
    […]}}``; the label is the answer. A sample without a score is removed from the training, as it is not wrong.
    """
    if isinstance(samples, list):
        return list(await asyncio.gather(*(_grade(sample) for sample in samples)))
    return await _grade(samples)


async def _grade(sample: Sample) -> float:
    metadata = sample.metadata or {}
    grader = metadata.get("grader") or os.environ.get("PADDOCK_GRADER", "math")
    task = {**({} if sample.label is None else {"answer": sample.label}), **metadata.get("task", {})}
    messages = [{"role": "assistant", "content": sample.response}]
    graded = await _in_thread(_RUNNING, _client().grade, grader, task, messages)
    if graded.score is None:
        sample.remove_sample = True
    return graded.score or 0.0


async def generate(args: Namespace, sample: Sample, sampling_params: dict[str, Any]) -> Sample:
    """Plays an episode in the format of ChatML and Hermes, as of Qwen: replies call ``run_python``.

    Each sample has its own interpreter, from its first call to its end. The tokens of results have the loss mask 0.
    """
    if args.partial_rollout:
        raise ValueError("Cannot generate with --partial-rollout as the interpreter of an aborted sample is closed")
    if sample.response_length > 0:
        raise ValueError("Cannot generate as the sample must have no response yet")
    episode = _Episode(args, sample, GenerateState(args).tokenizer)
    try:
        await episode.play(sampling_params)
    finally:
        await episode.close()
    return sample


class _Episode:
    def __init__(self, args: Namespace, sample: Sample, tokenizer: Any) -> None:
        self._args, self._sample, self._tokenizer = args, sample, tokenizer
        self._url = f"http://{args.sglang_router_ip}:{args.sglang_router_port}/generate"
        self._session: Optional[Session] = None

    async def play(self, sampling_params: dict[str, Any]) -> None:
        sample, most = self._sample, sampling_params["max_new_tokens"]
        sample.tokens = self._tokenizer.encode(sample.prompt, add_special_tokens=False)
        for _ in range(int(os.environ.get("PADDOCK_MAX_TURNS", "16"))):
            text = await self._reply({**sampling_params, "max_new_tokens": most - sample.response_length})
            calls = _CALL.findall(text)[:_MAX_CALLS]
            if sample.status != Sample.Status.COMPLETED or not calls:
                return
            results = [f"<tool_response>\n{self._break_tokens(await self._run(call))}\n</tool_response>" for call in calls]
            turn = "\n<|im_start|>user\n" + "\n".join(results) + "<|im_end|>\n<|im_start|>assistant\n"
            ids = self._tokenizer.encode(turn, add_special_tokens=False)
            if sample.response_length + len(ids) >= most:
                break
            sample.append_response_tokens(self._args, tokens=ids, trainable=False, text=turn)
        sample.status = Sample.Status.TRUNCATED

    async def _reply(self, sampling_params: dict[str, Any]) -> str:
        payload = {"input_ids": self._sample.tokens, "sampling_params": sampling_params, "return_logprob": True}
        output = await post(self._url, payload)
        meta_info = output["meta_info"]
        sampled = meta_info.get("output_token_logprobs", [])
        self._sample.append_response_tokens(
            self._args,
            tokens=[token for _, token, *_ in sampled],
            log_probs=[logprob for logprob, *_ in sampled],
            meta_info=meta_info,
            text=output["text"],
        )
        return output["text"]

    async def _run(self, call: str) -> str:
        try:
            parsed = json.loads(call)
            name, code = parsed["name"], parsed["arguments"]["code"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return 'Error: a call must be {"name": "run_python", "arguments": {"code": …}}'
        if name != "run_python" or not isinstance(code, str):
            return "Error: the only tool is run_python, and its code must be a text"
        if self._session is None:
            self._session = await _in_thread(_OPENING, _client().session)
        timeout = os.environ.get("PADDOCK_TIMEOUT")
        run = functools.partial(self._session.exec, code, timeout=float(timeout) if timeout else None)
        return tool_text(await _in_thread(_RUNNING, run), _MAX_CHARACTERS)

    def _break_tokens(self, text: str) -> str:
        """Returns a text whose control tokens are encoded as text, so that a result cannot open a turn."""
        for token in sorted(self._tokenizer.get_added_vocab(), key=len, reverse=True):
            text = text.replace(token, token[:1] + "\u200b" + token[1:])
        return text

    async def close(self) -> None:
        if self._session is not None:
            await asyncio.shield(_in_thread(_RUNNING, self._session.close))
