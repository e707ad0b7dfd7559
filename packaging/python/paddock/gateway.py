"""Client of a gateway: sessions in which an agent asks a model, and the rows for a trainer.

    from paddock.gateway import Gateway

    gateway = Gateway("http://127.0.0.1:8472")
    with gateway.session({"id": "sum", "answer": "5"}) as session:
        text = run_my_agent(base_url=session.openai_url, api_key=session.key)
        session.reward(1.0 if "5" in text else 0.0)
        rows = session.rows()

``AsyncGateway`` has the same methods as coroutines.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Mapping, Optional, Union

from .client import Client, PaddockError, _in_base64, _lost, _quoted

if TYPE_CHECKING:
    from .aio_gateway import AsyncGateway, AsyncGatewayHandle, AsyncGatewaySession

__all__ = [
    "AsyncGateway",
    "AsyncGatewayHandle",
    "AsyncGatewaySession",
    "Gateway",
    "GatewayHandle",
    "GatewaySession",
]

_SESSIONS = "/gateway/sessions"
_TESTS_SECONDS = 60.0


def __getattr__(name: str) -> Any:
    if not name.startswith("Async") or name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import aio_gateway  # asyncio takes a tenth of a second

    return getattr(aio_gateway, name)


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
        tool_choice: Optional[str] = None,
        rewritten: Optional[str] = None,
        idle_seconds: Optional[float] = None,
        sandbox: Optional[Mapping[str, Any]] = None,
    ) -> GatewaySession:
        """Opens a session for one run of an agent. ``task`` has an ``id``, and may have a ``query`` and an ``answer``.

        With ``sandbox``, such as ``{}`` or ``{"seed": 7}``, the session has a sandbox, which ends with it.
        """
        body = _opening(
            task,
            sample=sample,
            sampling=sampling,
            sampling_from=sampling_from,
            tool_choice=tool_choice,
            rewritten=rewritten,
            idle_seconds=idle_seconds,
            sandbox=sandbox,
        )
        return GatewaySession(self._client, self._client._post(_SESSIONS, body))

    def attach(self, session_id: str) -> GatewayHandle:
        """Returns a session that is open, by its id, without a request. Its key is known only to who opened it."""
        return GatewayHandle(self._client, session_id)

    def sessions(self) -> list[dict[str, Any]]:
        """Returns the state of the owner's sessions."""
        sessions: list[dict[str, Any]] = self._get(_SESSIONS)["sessions"]
        return sessions

    def rows(self, follow: bool = False, format: str = "slime") -> Iterator[dict[str, Any]]:
        """Yields the rows of the owner's sessions that have ended. ``format`` is ``slime``, ``verl`` or ``trl``.

        With ``follow``, it also yields those of sessions that end later, until the loop ends or the gateway stops, which is
        a :class:`PaddockError`.
        """
        path = _rows_path(follow, format)
        seconds = threading.TIMEOUT_MAX if follow else self._client._answer_timeout
        with self._client._open("GET", path, None, {}, seconds) as response:
            for line in response:
                if line.strip():
                    yield json.loads(line)
            if follow or not response.isclosed():
                raise _lost(self._client._host, ConnectionError("the stream of rows has ended"), unsent=False)

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


class GatewayHandle:
    """A session, for its owner."""

    def __init__(self, client: Client, session_id: str) -> None:
        self._client = client
        self.id = session_id
        self._path = f"{_SESSIONS}/{_quoted(session_id)}"

    def reward(
        self, reward: Optional[float], parts: Optional[Mapping[str, Optional[float]]] = None
    ) -> dict[str, Any]:
        """Ends the session with a reward, and returns its state. ``None`` is a missing score, which is not 0."""
        return self._client._post(f"{self._path}/reward", _rewarding(reward, parts))

    def grade(self, grader: str, file: Optional[str] = None) -> dict[str, Any]:
        """Ends the session with the score of a grader, and returns its state.

        The grader reads the last reply, or the ``file`` of the sandbox in its place. A file in ``.py`` is graded as a program.
        """
        return self._client._post(f"{self._path}/reward", _grading(grader, file))

    def test(
        self,
        code: str,
        *,
        files: Optional[Mapping[str, Union[str, bytes]]] = None,
        timeout: Optional[float] = None,
    ) -> dict[str, Any]:
        """Ends the session with the score of a program that sees the files of the sandbox, and returns its state.

        The program runs in an interpreter that the agent did not touch. Its last value is the score. Without a value, it
        passes with 1 if it raises nothing. ``output`` of the state is the end of what it printed.
        """
        body = _testing(code, files, timeout)
        return self._client._post(f"{self._path}/reward", body, timeout=timeout or _TESTS_SECONDS)

    def fork(self, count: int = 1) -> list[GatewaySession]:
        """Opens copies, which know the turns so far, each with a copy of the sandbox."""
        answer = self._client._post(f"{self._path}/fork", {"count": count})
        return [GatewaySession(self._client, opened) for opened in answer["sessions"]]

    def state(self) -> dict[str, Any]:
        """Returns the status, the numbers of turns and rows, and the reward."""
        value: dict[str, Any] = json.loads(self._client._request("GET", self._path))
        return value

    def rows(self) -> list[dict[str, Any]]:
        """Returns the rows for a trainer. Those of a session that has not ended have the status ``aborted``."""
        return _rows(self._client._request("GET", f"{self._path}/rows"))

    def delete(self) -> None:
        """Ends the session, unless it has ended, and frees its memory. A session that is gone is no error."""
        try:
            self._client._request("DELETE", self._path)
        except PaddockError as error:
            if error.kind != "not_found":
                raise


class GatewaySession(GatewayHandle):
    """One run of an agent. A ``with`` block that ends with an exception deletes the session, which is then aborted."""

    def __init__(self, client: Client, opened: Mapping[str, Any]) -> None:
        super().__init__(client, opened["id"])
        _set_access(self, opened)

    key: str
    """API key of the agent."""
    model: str
    openai_url: str
    """Base URL of OpenAI's SDK, and of most others."""
    anthropic_url: str
    """Base URL of Anthropic's SDK."""
    sandbox_id: Optional[str]
    """Id of the session's sandbox in ``/v1/sessions``."""
    e2b_sandbox_id: Optional[str]
    e2b_api_key: Optional[str]
    """API key with which E2B's SDK opens the session's sandbox."""

    def __enter__(self) -> GatewaySession:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.delete()


def _set_access(session: Any, opened: Mapping[str, Any]) -> None:
    """Sets what an agent needs to use a session."""
    session.key = opened["key"]
    session.model = opened["model"]
    session.openai_url = opened["base_urls"]["openai"]
    session.anthropic_url = opened["base_urls"]["anthropic"]
    sandbox: Mapping[str, str] = opened.get("sandbox") or {}
    session.sandbox_id = sandbox.get("id")
    session.e2b_sandbox_id = sandbox.get("e2b_id")
    session.e2b_api_key = sandbox.get("e2b_api_key")


def _opening(task: Mapping[str, Any], *, sandbox: Optional[Mapping[str, Any]], **options: Any) -> dict[str, Any]:
    options["sandbox"] = None if sandbox is None else dict(sandbox)
    return {"task": dict(task), **{name: value for name, value in options.items() if value is not None}}


def _rewarding(reward: Optional[float], parts: Optional[Mapping[str, Optional[float]]]) -> dict[str, Any]:
    return {"reward": reward, **({} if parts is None else {"reward_parts": dict(parts)})}


def _grading(grader: str, file: Optional[str]) -> dict[str, Any]:
    return {"grader": grader, **({} if file is None else {"file": file})}


def _testing(
    code: str, files: Optional[Mapping[str, Union[str, bytes]]], timeout: Optional[float]
) -> dict[str, Any]:
    tests: dict[str, Any] = {"code": code}
    if files is not None:
        tests["files"] = _in_base64(files)
    if timeout is not None:
        tests["timeout_seconds"] = timeout
    return {"tests": tests}


def _rows_path(follow: bool, format: str) -> str:
    return f"/gateway/rows?format={_quoted(format)}&follow={'true' if follow else 'false'}"


def _rows(contents: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in contents.decode().split("\n") if line]
