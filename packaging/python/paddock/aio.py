"""Asynchronous client of ``paddock serve``.

    from paddock import AsyncClient

    async with AsyncClient("http://127.0.0.1:8471") as client, client.session() as session:
        await session.exec("x = 20")
        print((await session.exec("x + 1")).value)  # 21

It has the methods of ``paddock.Client``, as coroutines. It sends requests with ``httpx``, which keeps connections
open, if ``httpx`` is installed, and otherwise with the standard library, in up to 64 threads. A task that is cancelled
also cancels its program.
"""

from __future__ import annotations

import asyncio
import http.client
import inspect
import math
import ssl
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import (
    Any,
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Literal,
    Mapping,
    Optional,
    Protocol,
    Sequence,
    TYPE_CHECKING,
    Union,
)

from . import client as core
from .client import BatchOutcome, Body, Checkpoint, Client, ExecResult, Files, OnOutput, PaddockError, Score, Tool

if TYPE_CHECKING:
    import httpx

__all__ = ["AsyncClient", "AsyncSession"]

_MAX_THREADS = 64
_MAX_LINES = 64
"""Lines of a response that may wait for their reader."""
_CANCEL_SECONDS = 5.0


class _Transport(Protocol):
    """Sends requests. All failures are ``PaddockError``."""

    async def send(self, request: _Request) -> bytes:
        """Returns the body of the response."""
        ...

    def lines(self, request: _Request) -> AsyncGenerator[bytes, None]:
        """Returns the lines of the response. Closing the generator closes the connection."""
        ...

    async def aclose(self) -> None: ...


class _Request:
    def __init__(self, method: str, path: str, body: Optional[Body], headers: Mapping[str, str], seconds: float) -> None:
        self.method, self.path, self.body, self.headers = method, path, body, headers
        self.seconds = seconds
        """Timeout of the whole response."""


class AsyncClient:
    """Client of a server, for one event loop at a time. ``token`` is an access token. Times are in seconds."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8471",
        token: Optional[str] = None,
        *,
        retries: int = 4,
        backoff: float = 0.25,
        answer_timeout: float = 300.0,
    ) -> None:
        """``answer_timeout`` is the timeout of a response, in addition to the timeout of its program."""
        self._options = Client(url, token, retries=retries, backoff=backoff, answer_timeout=answer_timeout)
        self._transport: _Transport = _ThreadTransport(self._options)
        self._cancels: set[asyncio.Task[None]] = set()
        try:
            self._transport = _HttpxTransport(self._options)
        except ImportError:
            pass  # the standard library does it

    def session(
        self,
        seed: Optional[int] = None,
        wait: Optional[float] = None,
        *,
        tools: Sequence[Tool] = (),
        tool_timeout: Optional[float] = None,
        ttl: Optional[float] = None,
        timeout: Optional[float] = None,
        memory_bytes: Optional[int] = None,
        metadata: Optional[Mapping[str, str]] = None,
        checkpoint: Union[Checkpoint, str, None] = None,
        checkpoint_every: Union[Literal["exec"], float, None] = None,
    ) -> _Opening:
        """Opens a session: ``async with client.session() as session``, or ``session = await client.session()``.

        The options are those of ``Client.session``. ``tools`` may be coroutine functions, which run in this event
        loop; other functions run in threads.
        """
        named = core._named_tools(tools, tool_timeout)
        limits = core._limits(timeout, memory_bytes)
        body = {
            "seed": seed,
            "from": core._checkpoint_id(checkpoint),
            "checkpointEvery": checkpoint_every,
            "ttlSeconds": ttl,
            "metadata": metadata,
            "limits": limits,
            "tools": named.specs or None,
        }

        async def opened() -> AsyncSession:
            until = None if wait is None else time.monotonic() + wait
            answer = await self._post("/sessions", body, full_until=until, waits=True)
            return AsyncSession(self, core._text(answer, "id"), named.functions)

        return _Opening(opened)

    async def exec(
        self,
        code: str,
        *,
        timeout: Optional[float] = None,
        stdin: Optional[str] = None,
        inputs: Optional[Mapping[str, Any]] = None,
        files: Optional[Files] = None,
        fetch_files: Sequence[str] = (),
        on_output: Optional[OnOutput] = None,
    ) -> ExecResult:
        """Runs one program in its own interpreter. The options are those of ``Client.exec``."""
        body = core._program(code, timeout=timeout, stdin=stdin, inputs=inputs, files=files, fetch_files=fetch_files)
        if on_output is None:
            return core._result(await self._post("/exec", body, timeout=timeout, waits=True))
        return await self._stream("/exec/stream", body, on_output, None, timeout=timeout, waits=True)

    async def sessions(self, metadata: Optional[Mapping[str, str]] = None) -> list[dict[str, Any]]:
        """Returns the sessions of this token that have this metadata, as the server describes them."""
        return core._list(await self._request("GET", core._sessions_path(metadata)), "sessions")

    async def checkpoints(self) -> list[Checkpoint]:
        """Returns the checkpoints of this token, least recently used first."""
        contents = await self._request("GET", "/checkpoints")
        return [core._checkpoint(each) for each in core._list(contents, "checkpoints")]

    async def delete_checkpoint(self, checkpoint: Union[Checkpoint, str]) -> None:
        """Deletes a checkpoint. Does nothing if the server does not keep it."""
        with core._ignoring_missing():
            await self._request("DELETE", core._checkpoint_path(checkpoint))

    async def export_checkpoint(self, checkpoint: Union[Checkpoint, str]) -> bytes:
        """Returns the bytes of a checkpoint, as ``Client.export_checkpoint``."""
        return await self._request("GET", core._checkpoint_path(checkpoint))

    async def import_checkpoint(self, contents: bytes) -> Checkpoint:
        """Keeps a checkpoint that was exported, as ``Client.import_checkpoint``."""
        return core._checkpoint(await self._post("/checkpoints", core._File(contents)))

    async def exec_batch(self, programs: Iterable[Union[str, Mapping[str, Any]]]) -> list[BatchOutcome]:
        """Runs many programs in one request, as ``Client.exec_batch``."""
        items, seconds = core._batch(programs)
        return core._outcomes(await self._post("/exec:batch", {"items": items}, timeout=seconds), len(items))

    async def grade(self, grader: str, task: Mapping[str, Any], messages: Sequence[Mapping[str, str]]) -> Score:
        """Scores a conversation with one of the server's graders, as ``Client.grade``."""
        return core._score(await self._post("/grade", core._conversation(grader, task, messages), waits=True))

    async def graders(self) -> list[str]:
        """Returns the names of the server's graders."""
        return [str(name) for name in core._list(await self._request("GET", "/graders"), "graders")]

    async def rollout(
        self,
        policy: str,
        tasks: Iterable[Mapping[str, Any]],
        *,
        weight_version: Optional[core.WeightVersion] = None,
        stop: Optional[Callable[[], bool]] = None,
        timeout: Optional[float] = None,
        **options: Any,
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Plays episodes on the server, as ``Client.rollout`` does.

        A loop that is left ends the rollout when the generator is closed: use ``contextlib.aclosing``. Functions of this
        process as ``grader`` and ``tools`` need ``Client.rollout``.
        """
        if callable(options.get("grader")) or any(callable(tool) for tool in options.get("tools") or ()):
            raise TypeError("Cannot call functions of this process from an AsyncClient: use Client.rollout in a thread")
        reading = core._Rollout(weight_version, stop)
        body = reading.body(policy, tasks, timeout, options)
        lines = self._transport.lines(_Request("POST", "/rollouts", body, {}, math.inf))
        try:
            while not reading.is_over:
                item = reading.add(await anext(lines, b""))
                if item is None:
                    continue
                yield item
                for method, path, change in reading.changes():
                    with core._ignoring_missing():  # all episodes have ended
                        await self._request(method, path, change, request_id=str(uuid.uuid4()))
        finally:
            await lines.aclose()

    async def aclose(self) -> None:
        """Closes idle connections, after cancelled programs have ended. Sessions stay open."""
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(cancel for cancel in self._cancels if cancel.get_loop() is loop))
        await self._transport.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _post(self, path: str, body: Body, **options: Any) -> dict[str, Any]:
        request_id = str(uuid.uuid4())
        try:
            return core._json(await self._request("POST", path, body, request_id=request_id, **options), path)
        except BaseException as error:
            if core._continues(error):
                cancel = asyncio.create_task(self._cancel(request_id))
                self._cancels.add(cancel)
                cancel.add_done_callback(self._cancels.discard)
                await asyncio.shield(cancel)  # which ends at once if the task is cancelled again, as anyio does
            raise

    async def _cancel(self, request_id: str) -> None:
        try:
            await self._transport.send(_Request("DELETE", f"/requests/{request_id}", None, {}, _CANCEL_SECONDS))
        except PaddockError:
            pass  # it ends at its own timeout

    async def _request(
        self,
        method: str,
        path: str,
        body: Optional[Body] = None,
        *,
        request_id: Optional[str] = None,
        timeout: Optional[float] = None,
        answer_timeout: Optional[float] = None,
        waits: bool = False,
        full_until: Optional[float] = None,
    ) -> bytes:
        """Sends a request, with retries. A POST without an id is not sent again if it may have arrived."""
        headers = {} if request_id is None else {"x-request-id": request_id}
        request = _Request(method, path, body, headers, (answer_timeout or self._options._answer_timeout) + (timeout or 0))
        retry = self._retry(is_safe=method != "POST" or request_id is not None, waits=waits, until=full_until)
        while True:
            try:
                return await self._transport.send(request)
            except PaddockError as error:
                await asyncio.sleep(retry.pause(error))

    async def _stream(
        self,
        path: str,
        body: Body,
        on_output: Optional[OnOutput],
        calls: Optional[_Calls],
        *,
        timeout: Optional[float],
        waits: bool = False,
    ) -> ExecResult:
        """Runs a program and reads its output and calls. It is sent again only if it has not reached the server."""
        request = _Request("POST", path, body, {}, self._options._answer_timeout + (timeout or 0))
        retry = self._retry(is_safe=False, waits=waits, until=None)
        while True:
            lines = self._transport.lines(request)
            try:
                return await _read_events(lines, on_output, calls)
            except PaddockError as error:
                pause = retry.pause(error)
            finally:
                if calls is not None:
                    calls.stop()
                await lines.aclose()
            await asyncio.sleep(pause)

    def _retry(self, *, is_safe: bool, waits: bool, until: Optional[float]) -> core._Retry:
        return core._Retry(self._options._retries, self._options._backoff, is_safe=is_safe, waits=waits, until=until)


class _Opening:
    """A session that is opened by ``await`` or ``async with``."""

    def __init__(self, open_session: Callable[[], Coroutine[Any, Any, AsyncSession]]) -> None:
        self._open_session = open_session
        self._session: Optional[AsyncSession] = None

    def __await__(self) -> Generator[Any, None, AsyncSession]:
        return self._open_session().__await__()

    async def __aenter__(self) -> AsyncSession:
        self._session = await self
        return self._session

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()


class AsyncSession:
    """An interpreter that keeps its variables and files until it is closed, or idle for ten minutes.

    It runs one program at a time; further calls wait.
    """

    def __init__(self, client: AsyncClient, session_id: str, tools: Mapping[str, Tool]) -> None:
        self.id = session_id
        self._client = client
        self._tools = tools
        self._path = core._session_path(session_id)
        self._lock = asyncio.Lock()
        self._closed = False

    async def exec(
        self,
        code: str,
        *,
        timeout: Optional[float] = None,
        stdin: Optional[str] = None,
        inputs: Optional[Mapping[str, Any]] = None,
        files: Optional[Files] = None,
        fetch_files: Sequence[str] = (),
        on_output: Optional[OnOutput] = None,
        suspend_at: Optional[Literal["tool"]] = None,
    ) -> ExecResult:
        """Runs a program. The options are those of ``Session.exec``."""
        body = core._program(code, timeout=timeout, stdin=stdin, inputs=inputs, files=files, fetch_files=fetch_files)
        if suspend_at is not None:
            body["suspendAt"] = suspend_at
        async with self._lock:
            if on_output is None and (suspend_at is not None or not self._tools):
                return core._result(await self._client._post(f"{self._path}/exec", body, timeout=timeout))
            calls = _Calls(self._client, self._path, self._tools)
            return await self._client._stream(f"{self._path}/stream", body, on_output, calls, timeout=timeout)

    async def resume(
        self,
        value: Any = None,
        *,
        error: Optional[str] = None,
        call_id: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> ExecResult:
        """Answers the call that a program waits for, as ``Session.resume``."""
        body = core._tool_answer(value, error, call_id, timeout)
        async with self._lock:
            return core._result(await self._client._post(f"{self._path}/resume", body, timeout=timeout))

    async def waiting_call(self) -> Optional[core.WaitingCall]:
        """Returns the call that a program of the session waits for, or ``None``."""
        async with self._lock:
            contents = await self._client._request("GET", self._path)
            return core._waiting_call(core._json(contents, "get session").get("waiting"))

    async def shell(
        self,
        command: str,
        *,
        timeout: Optional[float] = None,
        silence: Optional[float] = None,
        stdin: Optional[str] = None,
    ) -> ExecResult:
        """Runs a command line, as ``Session.shell``."""
        body = {"command": command, "stdin": stdin, "timeoutMs": core._ms(timeout), "silenceMs": core._ms(silence)}
        async with self._lock:
            return core._result(await self._client._post(f"{self._path}/shell", body, timeout=timeout))

    async def write_file(self, path: str, contents: Union[str, bytes]) -> None:
        """Writes a file, as ``Session.write_file``."""
        async with self._lock:
            await self._client._post(f"{self._path}/files", {"files": core._in_base64({path: contents})})

    async def read_file(self, path: str) -> bytes:
        """Reads a file, as ``Session.read_file``."""
        async with self._lock:
            return await self._client._request("GET", f"{self._path}/file?path={core._quoted(path)}")

    async def list_files(self) -> dict[str, int]:
        """Returns the files under the working directory, with their sizes in bytes."""
        async with self._lock:
            return core._sizes(await self._client._request("GET", f"{self._path}/files"))

    async def list_dir(self, path: str = ".") -> list[dict[str, Any]]:
        """Returns the entries of a folder, as ``Session.list_dir``."""
        async with self._lock:
            contents = await self._client._request("GET", f"{self._path}/files?path={core._quoted(path)}")
            return core._list(contents, "files")

    async def make_dir(self, path: str) -> None:
        """Makes a folder and those above it."""
        async with self._lock:
            await self._client._post(f"{self._path}/directories", {"path": path})

    async def remove(self, path: str, recursive: bool = False) -> None:
        """Removes a file or a folder, which must be empty unless ``recursive``."""
        async with self._lock:
            await self._client._request("DELETE", core._removal(self._path, path, recursive))

    async def reset(self, mode: str = "fresh", seed: Optional[int] = None) -> None:
        """Resets variables and files. ``rewind`` is faster, but only safe if you trust the last program."""
        async with self._lock:
            await self._client._post(f"{self._path}/reset", {"mode": mode, "seed": seed})

    async def checkpoint(self, memory: bool = True) -> Checkpoint:
        """Keeps the state of the session on the server, as ``Session.checkpoint``."""
        async with self._lock:
            return core._checkpoint(await self._client._post(f"{self._path}/checkpoint", {"memory": memory}))

    async def restore(self, checkpoint: Union[Checkpoint, str]) -> None:
        """Returns the session to a checkpoint, or its id. No code runs again."""
        async with self._lock:
            await self._client._post(f"{self._path}/restore", {"checkpoint": core._checkpoint_id(checkpoint)})

    async def fork(self, count: int = 1, seed: Optional[int] = None) -> list[AsyncSession]:
        """Opens copies of the session, as ``Session.fork``. The caller must close them."""
        async with self._lock:
            answer = await self._client._post(f"{self._path}/fork", {"count": count, "seed": seed})
        return [AsyncSession(self._client, copy_id, self._tools) for copy_id in core._copy_ids(answer)]

    async def close(self) -> None:
        """Closes the session. It can be called again and does not fail: an unreachable session ends by itself."""
        if self._closed:
            return
        self._closed = True
        try:
            await self._client._request("DELETE", self._path, answer_timeout=core._CLOSE_SECONDS)
        except PaddockError:
            pass  # an idle session ends by itself

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class _Calls:
    """Runs the calls of one program as tasks and sends the answers."""

    def __init__(self, client: AsyncClient, path: str, tools: Mapping[str, Tool]) -> None:
        self._client, self._path, self._tools = client, path, tools
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, call: dict[str, Any]) -> None:
        call_id = core._text(call, "callId")
        task = self._tasks[call_id] = asyncio.create_task(self._answer(call_id, call))
        task.add_done_callback(lambda _: self._tasks.pop(call_id, None))

    def cancel(self, call_id: str) -> None:
        if task := self._tasks.get(call_id):
            task.cancel()

    def stop(self) -> None:
        for task in list(self._tasks.values()):
            task.cancel()

    async def _answer(self, call_id: str, call: dict[str, Any]) -> None:
        path = f"{self._path}/calls/{core._quoted(call_id)}"
        try:
            await self._client._post(path, await self._run(call))
        except PaddockError as error:
            if error.status in core._CALL_OVER:
                return
            try:
                await self._client._post(path, core._error_answer(error))  # such as a value that is too large
            except PaddockError:
                pass  # the server reports that the call had no answer

    async def _run(self, call: dict[str, Any]) -> bytes:
        try:
            tool, arguments = self._tools[core._text(call, "name")], call["arguments"]
            value = tool(**arguments) if inspect.iscoroutinefunction(tool) else await asyncio.to_thread(tool, **arguments)
            return core._value_answer(await value if inspect.isawaitable(value) else value)
        except (Exception, SystemExit) as error:  # the program waits for an answer
            return core._error_answer(error)


async def _read_events(
    lines: AsyncIterator[bytes], on_output: Optional[OnOutput], calls: Optional[_Calls]
) -> ExecResult:
    events = core._Events(on_output)
    async for line in lines:
        event = events.add(line)
        if isinstance(event, ExecResult):
            return event
        if event is not None and calls is not None:
            name, call = event
            if name == "call":
                calls.start(call)
            else:
                calls.cancel(core._text(call, "callId"))
    raise PaddockError(core._NO_RESULT)


class _ThreadTransport:
    """Sends each request in a thread, by the standard library."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._threads = ThreadPoolExecutor(_MAX_THREADS, thread_name_prefix="paddock")

    async def send(self, request: _Request) -> bytes:
        contents: bytes = await asyncio.get_running_loop().run_in_executor(self._threads, self._once, request, core._read)
        return contents

    async def lines(self, request: _Request) -> AsyncGenerator[bytes, None]:
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Union[bytes, Exception, None]] = asyncio.Queue()
        reading, room = _Reading(), threading.Semaphore(_MAX_LINES)

        def put(item: Union[bytes, Exception, None]) -> None:
            loop.call_soon_threadsafe(queue.put_nowait, item)

        def read(response: http.client.HTTPResponse) -> None:
            reading.begin(response)
            while not reading.stopped and (line := response.readline(core._MAX_RESPONSE_BYTES)):
                room.acquire()
                put(line)
            if not reading.stopped and not response.isclosed():
                raise http.client.IncompleteRead(b"")

        def work() -> None:
            try:
                self._once(request, read)
                put(None)
            except Exception as error:
                if not reading.stopped:
                    put(error)

        self._threads.submit(work)
        try:
            while (item := await queue.get()) is not None:
                if isinstance(item, Exception):
                    raise item
                room.release()
                yield item
        finally:
            reading.stop()
            room.release()  # the thread may wait for room

    async def aclose(self) -> None:
        """Does nothing, since each request closes its connection. Threads end with the client."""

    def _once(self, request: _Request, read: core.Read) -> Any:
        return self._client._once(request.method, request.path, request.body, request.headers, request.seconds, read)


class _Reading:
    """A response that one thread reads and another one can stop."""

    def __init__(self) -> None:
        self.stopped = False
        self._reader: Optional[core._DeadlineReader] = None

    def begin(self, response: http.client.HTTPResponse) -> None:
        raw = response.fp.raw
        self._reader = raw if isinstance(raw, core._DeadlineReader) else None

    def stop(self) -> None:
        self.stopped = True
        if self._reader is not None:
            self._reader.stop()


class _HttpxTransport:
    """Sends requests by ``httpx``. Connections belong to an event loop, so that each loop has its own."""

    def __init__(self, client: Client) -> None:
        import httpx

        self._httpx = httpx
        self._client = client
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._http: Optional[httpx.AsyncClient] = None

    async def send(self, request: _Request) -> bytes:
        async def contents() -> bytes:
            pieces, count = [], 0
            async for piece in self._pieces(request):
                pieces.append(piece)
                count += len(piece)
                if count > core._MAX_RESPONSE_BYTES:
                    raise core._too_large()
            return b"".join(pieces)

        try:
            return await asyncio.wait_for(contents(), request.seconds)
        except asyncio.TimeoutError as error:
            raise core._late(self._client._host, request.seconds) from error

    async def lines(self, request: _Request) -> AsyncGenerator[bytes, None]:
        until = time.monotonic() + request.seconds
        pieces, rest = self._pieces(request), b""
        try:
            while True:
                piece = await asyncio.wait_for(_next(pieces), until - time.monotonic())
                *complete, rest = (rest + (piece or b"")).split(b"\n")
                for line in complete:
                    yield line + b"\n"
                if piece is None:
                    return
                if len(rest) > core._MAX_RESPONSE_BYTES:
                    raise core._too_large()
        except asyncio.TimeoutError as error:
            raise core._late(self._client._host, request.seconds) from error
        finally:
            await pieces.aclose()

    async def aclose(self) -> None:
        if self._http is not None and self._loop is asyncio.get_running_loop():
            await self._http.aclose()
            self._http = None

    async def _pieces(self, request: _Request) -> AsyncGenerator[bytes, None]:
        """Returns the body of a response in pieces."""
        headers = {**request.headers, **core._content_type(request.body)}
        content = core._contents(request.body)
        path = self._client._base + request.path
        try:
            async with self._connected().stream(request.method, path, content=content, headers=headers) as response:
                if not 200 <= response.status_code < 300:
                    text = (await _head(response))[: core._MAX_ERROR_BYTES].decode(errors="replace")
                    raise core._failure(response.status_code, text, response.headers.get("retry-after", ""))
                async for piece in response.aiter_bytes():
                    yield piece
        except self._httpx.TransportError as error:
            raise core._lost(self._client._host, error, unsent=isinstance(error, self._httpx.ConnectError)) from error

    def _connected(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        if self._http is None or self._loop is not loop:
            self._loop = loop
            self._http = self._httpx.AsyncClient(
                base_url=self._client._origin,
                headers={**self._client._headers, "accept-encoding": "identity"},
                limits=self._httpx.Limits(max_connections=None),
                timeout=None,  # a request has one for its whole response
                trust_env=False,  # as http.client: no proxies
                verify=ssl.create_default_context() if self._client._origin.startswith("https:") else False,
            )
        return self._http


async def _next(pieces: AsyncIterator[bytes]) -> Optional[bytes]:
    """Returns the next piece, or None at the end."""
    async for piece in pieces:
        return piece
    return None


async def _head(response: httpx.Response) -> bytes:
    """Returns the beginning of a body, of at least the length of an error."""
    contents = b""
    async for piece in response.aiter_bytes():
        contents += piece
        if len(contents) >= core._MAX_ERROR_BYTES:
            break
    return contents
