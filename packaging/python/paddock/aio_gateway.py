"""Asynchronous client of a gateway, which runs many agents at once in one event loop.

    from paddock.gateway import AsyncGateway

    async with AsyncGateway("http://127.0.0.1:8472") as gateway:
        async with gateway.session({"id": "sum", "answer": "5"}) as session:
            text = await run_my_agent(base_url=session.openai_url, api_key=session.key)
            await session.reward(1.0 if "5" in text else 0.0)
"""

from __future__ import annotations

import json
import math
from collections.abc import AsyncGenerator, Generator
from typing import Any, Mapping, Optional, Union

from . import client as core
from .aio import AsyncClient, _Request
from .client import PaddockError
from .gateway import (
    _SESSIONS,
    _TESTS_SECONDS,
    _grading,
    _opening,
    _rewarding,
    _rows,
    _rows_path,
    _set_access,
    _testing,
)

__all__ = ["AsyncGateway", "AsyncGatewayHandle", "AsyncGatewaySession"]


class AsyncGateway:
    """Client of a gateway, for one event loop at a time. It has the methods of ``Gateway`` as coroutines."""

    def __init__(self, url: str = "http://127.0.0.1:8472", token: Optional[str] = None, **options: Any) -> None:
        """``options`` are those of ``paddock.AsyncClient``."""
        self._client = AsyncClient(url, token, **options)

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
    ) -> _Opening:
        """Opens a session: ``async with gateway.session(task) as session``, or ``session = await gateway.session(task)``.

        The options are those of ``Gateway.session``.
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
        return _Opening(self._client, body)

    def attach(self, session_id: str) -> AsyncGatewayHandle:
        """Returns a session that is open, by its id, as ``Gateway.attach``."""
        return AsyncGatewayHandle(self._client, session_id)

    async def sessions(self) -> list[dict[str, Any]]:
        """Returns the state of the owner's sessions."""
        return core._list(await self._client._request("GET", _SESSIONS), "sessions")

    async def rows(self, follow: bool = False, format: str = "slime") -> AsyncGenerator[dict[str, Any], None]:
        """Yields the rows of the owner's sessions that have ended, as ``Gateway.rows``.

        A loop that is left ends the stream when the generator is closed: use ``contextlib.aclosing``.
        """
        seconds = math.inf if follow else self._client._options._answer_timeout
        lines = self._client._transport.lines(_Request("GET", _rows_path(follow, format), None, {}, seconds))
        try:
            async for line in lines:
                if line.strip():
                    yield json.loads(line)
        finally:
            await lines.aclose()
        if follow:
            ended = ConnectionError("the stream of rows has ended")
            raise core._lost(self._client._options._host, ended, unsent=False)

    async def stats(self) -> dict[str, Any]:
        """Returns the owner's numbers of sessions, turns, rows and bytes."""
        return core._json(await self._client._request("GET", "/gateway/stats"), "get stats")

    async def pause(self) -> None:
        """Holds back samples of the owner's sessions, and returns when none runs any more."""
        await self._client._post("/gateway/pause", {})

    async def resume(self, policy_version: Union[int, str, None] = None) -> None:
        """Lets samples go on. Later turns have the version, if one is given."""
        await self._client._post(
            "/gateway/resume", {} if policy_version is None else {"policy_version": policy_version}
        )

    async def aclose(self) -> None:
        """Closes idle connections. Sessions stay open."""
        await self._client.aclose()

    async def __aenter__(self) -> AsyncGateway:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _Opening:
    """A session that is opened by ``await`` or ``async with``."""

    def __init__(self, client: AsyncClient, body: Mapping[str, Any]) -> None:
        self._client, self._body = client, body
        self._session: Optional[AsyncGatewaySession] = None

    async def _open(self) -> AsyncGatewaySession:
        return AsyncGatewaySession(self._client, await self._client._post(_SESSIONS, dict(self._body)))

    def __await__(self) -> Generator[Any, None, AsyncGatewaySession]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncGatewaySession:
        self._session = await self
        return self._session

    async def __aexit__(self, kind: object, *_: object) -> None:
        if self._session is not None and kind is not None:
            await self._session.delete()


class AsyncGatewayHandle:
    """A session, for its owner. It has the methods of ``GatewayHandle`` as coroutines."""

    def __init__(self, client: AsyncClient, session_id: str) -> None:
        self._client = client
        self.id = session_id
        self._path = f"{_SESSIONS}/{core._quoted(session_id)}"

    async def reward(
        self, reward: Optional[float], parts: Optional[Mapping[str, Optional[float]]] = None
    ) -> dict[str, Any]:
        """Ends the session with a reward, as ``GatewayHandle.reward``."""
        return await self._client._post(f"{self._path}/reward", _rewarding(reward, parts))

    async def grade(self, grader: str, file: Optional[str] = None) -> dict[str, Any]:
        """Ends the session with the score of a grader, as ``GatewayHandle.grade``."""
        return await self._client._post(f"{self._path}/reward", _grading(grader, file))

    async def test(
        self,
        code: str,
        *,
        files: Optional[Mapping[str, Union[str, bytes]]] = None,
        timeout: Optional[float] = None,
    ) -> dict[str, Any]:
        """Ends the session with the score of a program that sees the files of the sandbox, as ``GatewayHandle.test``."""
        body = _testing(code, files, timeout)
        return await self._client._post(f"{self._path}/reward", body, timeout=timeout or _TESTS_SECONDS)

    async def fork(self, count: int = 1) -> list[AsyncGatewaySession]:
        """Opens copies, as ``GatewayHandle.fork``."""
        answer = await self._client._post(f"{self._path}/fork", {"count": count})
        return [AsyncGatewaySession(self._client, opened) for opened in answer["sessions"]]

    async def state(self) -> dict[str, Any]:
        """Returns the status, the numbers of turns and rows, and the reward."""
        return core._json(await self._client._request("GET", self._path), "get session")

    async def rows(self) -> list[dict[str, Any]]:
        """Returns the rows for a trainer, as ``GatewayHandle.rows``."""
        return _rows(await self._client._request("GET", f"{self._path}/rows"))

    async def delete(self) -> None:
        """Ends the session, unless it has ended, and frees its memory. A session that is gone is no error."""
        try:
            await self._client._request("DELETE", self._path)
        except PaddockError as error:
            if error.kind != "not_found":
                raise


class AsyncGatewaySession(AsyncGatewayHandle):
    """One run of an agent, with the fields of ``GatewaySession``."""

    key: str
    model: str
    openai_url: str
    anthropic_url: str
    sandbox_id: Optional[str]
    e2b_sandbox_id: Optional[str]
    e2b_api_key: Optional[str]

    def __init__(self, client: AsyncClient, opened: Mapping[str, Any]) -> None:
        super().__init__(client, opened["id"])
        _set_access(self, opened)
