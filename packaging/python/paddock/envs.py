"""Environments of a server, with the methods of Gymnasium.

    with paddock.make_env("paddock/graph-paths", difficulty=3) as env:
        observation, info = env.reset(seed=7)
        observation, reward, terminated, truncated, info = env.step("<answer>A -> B -> C</answer>")
"""

from __future__ import annotations

import contextlib
import urllib.parse
from typing import Any, Mapping, Optional, Union

from .client import Client, PaddockError, _list

__all__ = ["Env", "make_env"]

_SHELL_ENVS = ("paddock/shell-files",)
"""Envs whose server needs a profile with a shell."""


def make_env(
    name: str,
    *,
    client: Optional[Client] = None,
    difficulty: Optional[int] = None,
    split: Optional[str] = None,
    seed: Optional[int] = None,
    max_turns: Optional[int] = None,
    system_prompt: Optional[str] = None,
    grader: Optional[str] = None,
    calls: Optional[str] = None,
) -> Env:
    """Makes an environment, such as ``paddock/graph-paths``.

    The families ``paddock/…`` make their own problems: ``difficulty`` is from 1 to 10, ``split`` is ``train``,
    ``validation`` or ``test``, and ``seed`` chooses the order of the problems. The envs ``python`` and ``chat`` play the
    task of each ``reset``, which ``grader`` scores. ``calls`` is the format of tool calls in replies.

    Without a ``client``, the env starts a server on loopback and ends it with ``close()``. Raises ``PaddockError`` if
    the server refuses an option.
    """
    problems = {"difficulty": difficulty, "split": split, "seed": seed}
    options = {
        "env": name,
        "problems": _given(problems) or None,
        "maxTurns": max_turns,
        "systemPrompt": system_prompt,
        "grader": grader,
        "calls": calls,
    }
    with contextlib.ExitStack() as stack:
        if client is None:
            from .server import serve

            profile = "workspace" if name in _SHELL_ENVS else "serve"
            client = stack.enter_context(serve(profile=profile, max_sessions=2)).client()
        created = client._post("/envs", _given(options))
        return Env(client, name, str(created["id"]), problems, stack.pop_all())


class Env:
    """An environment of a server, for one episode at a time.

    An observation is ``{"taskId", "messages", "turns", "tools"}``: the messages to reply to, and the tools that may be
    called, if there are any.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        env_id: str,
        problems: Mapping[str, Any],
        resources: contextlib.ExitStack,
    ) -> None:
        self.name = name
        self.id = env_id
        self._client = client
        self._problems = problems
        self._resources = resources
        self._is_open = True

    def reset(
        self, *, seed: Optional[int] = None, task: Optional[Mapping[str, Any]] = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Starts an episode, and returns the observation and ``info``.

        In a family, the same ``seed`` gives the same problem; without a seed, the next problem of the env is played.
        ``task`` is one of ``tasks()``, or ``{"query", "answer", "fields"}`` for other envs.
        """
        body = _given({"seed": seed, "task": task})
        observation = self._client._post(f"{self._path}/reset", body)["observation"]
        return observation, {"task_id": observation["taskId"]}

    def step(
        self, action: Union[str, Mapping[str, Any]]
    ) -> tuple[dict[str, Any], Optional[float], bool, bool, dict[str, Any]]:
        """Replies with a text, or an assistant message, and returns the observation, the reward, ``terminated``,
        ``truncated`` and ``info``. The reward is ``None`` if the step was not scored, which is not 0.
        """
        step = self._client._post(f"{self._path}/step", {"reply": action})
        observation = step["observation"]
        info = {
            "task_id": observation["taskId"],
            "reward_parts": step.get("rewardParts", {}),
            "tool_results": step["toolResults"],
            **({"unscored": step["unscored"]} if "unscored" in step else {}),
        }
        return observation, step["reward"], step["terminated"], step["truncated"], info

    def tasks(self, count: int = 1, start: int = 0, **problems: Any) -> list[dict[str, Any]]:
        """Returns tasks of the family, for ``reset`` and ``Client.rollout``. ``difficulty``, ``split`` and ``seed`` are
        those of the env by default.
        """
        family = urllib.parse.quote(self.name.removeprefix("paddock/"), safe="")
        query = urllib.parse.urlencode(_given({**self._problems, **problems, "count": count, "start": start}))
        answer = self._client._request("GET", f"/families/{family}/tasks?{query}")
        return [dict(task) for task in _list(answer, "tasks")]

    def close(self) -> None:
        """Ends the env, and the server that it has started. It can be called again."""
        if not self._is_open:
            return
        self._is_open = False
        with self._resources:
            try:
                self._client._request("DELETE", self._path)
            except PaddockError as error:
                if error.status != 404:  # it has ended by itself
                    raise

    @property
    def _path(self) -> str:
        return f"/envs/{urllib.parse.quote(self.id, safe='')}"

    def __enter__(self) -> Env:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}

