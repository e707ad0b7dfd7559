"""Client of a gateway: sessions in which an agent asks a model, and the rows for a trainer.

    from paddock.gateway import Gateway

    gateway = Gateway("http://127.0.0.1:8472")
    with gateway.session({"id": "sum", "answer": "5"}) as session:
        text = run_my_agent(base_url=session.openai_url, api_key=session.key)
        session.reward(1.0 if "5" in text else 0.0)
        rows = session.rows()
"""

from __future__ import annotations

import json
from typing import Any, Mapping, Optional, Union

from .client import Client, PaddockError

__all__ = ["Gateway", "GatewaySession"]

_SESSIONS = "/gateway/sessions"


class Gateway:
    """Client of a gateway. ``token`` is the token of the owner, if the gateway requires one."""

    def __init__(self, url: str = "http://127.0.0.1:8472", token: Optional[str] = None, **options: Any) -> None:
        """``options`` are those of :class:`paddock.Client`."""
        self._client = Client(url, token, **options)

    def session(
        self,
        task: Mapping[str, Any],
        *,
        sample: Optional[int] = None,
        sampling: Optional[Mapping[str, Any]] = None,
        sampling_from: Optional[str] = None,
        rewritten: Optional[str] = None,
        idle_seconds: Optional[float] = None,
    ) -> GatewaySession:
        """Opens a session for one run of an agent. ``task`` has an ``id``, and may have a ``query`` and an ``answer``."""
        options = {
            "sample": sample,
            "sampling": sampling,
            "sampling_from": sampling_from,
            "rewritten": rewritten,
            "idle_seconds": idle_seconds,
        }
        body = {"task": dict(task), **{name: value for name, value in options.items() if value is not None}}
        return GatewaySession(self._client, self._client._post(_SESSIONS, body))

    def sessions(self) -> list[dict[str, Any]]:
        """Returns the state of the owner's sessions."""
        sessions: list[dict[str, Any]] = self._get(_SESSIONS)["sessions"]
        return sessions

    def stats(self) -> dict[str, Any]:
        """Returns the owner's numbers of sessions, turns, rows and bytes."""
        return self._get("/gateway/stats")

    def pause(self) -> None:
        """Holds back samples of the owner's sessions, and returns when none runs any more."""
        self._client._post("/gateway/pause", {})

    def resume(self, policy_version: Union[int, str, None] = None) -> None:
        """Lets samples go on. Later turns have the version, if one is given."""
        self._client._post("/gateway/resume", {} if policy_version is None else {"policy_version": policy_version})

    def _get(self, path: str) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self._client._request("GET", path))
        return value


class GatewaySession:
    """One run of an agent. A ``with`` block that ends with an exception deletes the session, which is then aborted."""

    def __init__(self, client: Client, opened: Mapping[str, Any]) -> None:
        self._client = client
        self.id: str = opened["id"]
        self.key: str = opened["key"]
        """API key of the agent."""
        self.model: str = opened["model"]
        self.openai_url: str = opened["base_urls"]["openai"]
        """Base URL of OpenAI's SDK, and of most others."""
        self.anthropic_url: str = opened["base_urls"]["anthropic"]
        """Base URL of Anthropic's SDK."""
        self._path = f"{_SESSIONS}/{self.id}"

    def reward(
        self, reward: Optional[float], parts: Optional[Mapping[str, Optional[float]]] = None
    ) -> dict[str, Any]:
        """Ends the session with a reward, and returns its state. ``None`` is a missing score, which is not 0."""
        body: dict[str, Any] = {"reward": reward}
        if parts is not None:
            body["reward_parts"] = dict(parts)
        return self._client._post(f"{self._path}/reward", body)

    def grade(self, grader: str) -> dict[str, Any]:
        """Ends the session with the score of a grader, and returns its state."""
        return self._client._post(f"{self._path}/reward", {"grader": grader})

    def state(self) -> dict[str, Any]:
        """Returns the status, the numbers of turns and rows, and the reward."""
        value: dict[str, Any] = json.loads(self._client._request("GET", self._path))
        return value

    def rows(self) -> list[dict[str, Any]]:
        """Returns the rows for a trainer. Those of a session that has not ended have the status ``aborted``."""
        lines = self._client._request("GET", f"{self._path}/rows").decode().split("\n")
        return [json.loads(line) for line in lines if line]

    def delete(self) -> None:
        """Ends the session, unless it has ended, and frees its memory. A session that is gone is no error."""
        try:
            self._client._request("DELETE", self._path)
        except PaddockError as error:
            if error.kind != "not_found":
                raise

    def __enter__(self) -> GatewaySession:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.delete()
