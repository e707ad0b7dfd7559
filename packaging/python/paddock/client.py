"""Client of ``paddock serve`` in one file. It needs Python 3.9 or later and only the standard library.

    from paddock import Client

    client = Client("http://127.0.0.1:8471")
    with client.session() as session:
        session.exec("x = 20")
        print(session.exec("x + 1").value)  # 21

A failure of a program is a result, not an exception: see ``ExecResult.status``. If the connection fails or the server
is busy, the client sends a request again; its id ensures that it runs only once. All other failures raise
``PaddockError``. A client can be used from several threads. A session runs one program at a time.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import http.client
import inspect
import io
import json
import math
import numbers
import os
import queue
import random
import re
import socket
import sys
import threading
import time
import traceback
import typing
import urllib.parse
import uuid
from dataclasses import dataclass, field
from typing import Any, Callable, Generator, Iterable, Iterator, Literal, Mapping, Optional, Sequence, Union

__all__ = [
    "BatchOutcome",
    "Checkpoint",
    "Client",
    "ExecResult",
    "GuestError",
    "PaddockError",
    "RestoredFrom",
    "Score",
    "Session",
    "WaitingCall",
]

Files = Mapping[str, Union[str, bytes]]
OnOutput = Callable[[str, str], None]
Read = Callable[[http.client.HTTPResponse], Any]
Tool = Callable[..., Any]
WeightVersion = Callable[[], Union[int, str]]


class _File(bytes):
    """A body that is sent as it is."""


Body = Union[Mapping[str, Any], bytes, _File]
"""A JSON object, its text, or a file."""

_BUSY = (408, 429, 502, 503, 504)
_GATEWAY = (502, 504)
_CALL_OVER = (404, 409)
_GRADE = "paddock_grade"
"""Name of the calls that grade."""
_NO_RESULT = "Cannot exec as the response ended before the result"
_MAX_PAUSE_SECONDS = 60.0
_CLOSE_SECONDS = 10.0
_MAX_RESPONSE_BYTES = 512 * 1024 * 1024
_MAX_THREADS = 32
_MAX_ERROR_BYTES = 1 << 20
_MAX_ERROR_CHARACTERS = 65_536
_NUMBERS = {**dict.fromkeys("bhilq", "int"), **dict.fromkeys("BHILQ", "uint"), **dict.fromkeys("fd", "float")}
"""Kinds of numbers by their letters in formats of buffers."""


class PaddockError(Exception):
    """A failed request. ``status`` is its HTTP status, or ``None`` if there was no response."""

    def __init__(
        self,
        message: str,
        status: Optional[int] = None,
        kind: str = "",
        retry_after: Optional[float] = None,
        reason: str = "",
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        """Error type of the server, such as ``not_found`` or ``busy``."""
        self.reason = reason
        """Why a file was not read or written (``file_not_found``, ``file_is_directory``, …), or a checkpoint not made or
        restored (``checkpoint_refused``, ``checkpoint_damaged``, …), or ``exec_waiting`` and ``exec_not_waiting`` of a
        program that waits for the answer to a call, or does not."""
        self.retry_after = retry_after
        """Seconds to wait before a retry, as set by the server."""
        self._unsent: Optional[bool] = None
        """Without a response: whether the request has certainly not reached the server."""


@dataclass(frozen=True)
class GuestError:
    """Python exception of the program."""

    type: str
    message: str
    traceback: str


@dataclass(frozen=True)
class RestoredFrom:
    """A checkpoint to which a session returned by itself, because its interpreter was lost."""

    lost_calls: int
    """Programs, commands and written files that had ended after the checkpoint, whose effects are lost."""
    age_ms: float


@dataclass(frozen=True)
class WaitingCall:
    """A call of a tool whose answer a program waits for."""

    id: str
    """``call_1`` for the first call of the program that has an answer, and so on."""
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class ExecResult:
    """Result of a program or a command line."""

    status: str
    """``ok``, ``error``, ``timeout``, ``memory``, ``output``, ``exited`` or ``crashed``; with ``suspend_at`` also ``waiting``
    and ``diverged``."""
    stdout: str
    stderr: str
    duration_ms: float
    state_kept: bool
    """False if the interpreter was lost. The next program then runs in a new one. With ``restored_from``, the session
    continues a checkpoint."""
    truncated: bool
    restarted: bool = False
    """True if this program ran in a new interpreter, because the previous one was lost."""
    value: Optional[str] = None
    """``repr`` of the last expression, unless it is None."""
    value_json: Any = None
    """The last expression's value if it is plain data, such as a dict of lists; None otherwise."""
    display: Sequence[Mapping[str, Any]] = field(default_factory=list)
    """What the program showed, by MIME type. Images are in base64."""
    dropped_displays: int = 0
    """Number of shown objects that exceeded a limit."""
    error: Optional[GuestError] = None
    exit_code: Optional[int] = None
    cwd: Optional[str] = None
    """Working directory of the shell after the command; None for a program."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """The requested files; missing ones are left out."""
    restored_from: Optional[RestoredFrom] = None
    """The checkpoint to which the session returned, because its interpreter was lost in this program or before it."""
    peak_memory_bytes: Optional[int] = None
    """Peak size of the interpreter's heap until the end of the program, as the guest measured it; None if it was lost."""

    digest: Optional[str] = None
    """SHA-256 of code, inputs, result and files, chained from image, profile and seed, if the server has a virtual clock."""
    inexact: bool = False
    """True if a limit of real time, CPU time or memory ended the program, although the server has a virtual clock."""

    call: Optional[WaitingCall] = None
    """With ``waiting``, the call that waits. With ``diverged``, the call of the first run that the second did not make."""

    @property
    def ok(self) -> bool:
        return self.status == "ok"


@dataclass(frozen=True)
class BatchOutcome:
    """Outcome of one program of a batch: its result, or the error why it did not run."""

    result: Optional[ExecResult]
    error: Optional[PaddockError]


@dataclass(frozen=True)
class Score:
    """A score and its parts by name. ``None`` means not scored, which is not 0; ``reason`` says why."""

    score: Optional[float]
    parts: Mapping[str, Optional[float]]
    reason: Optional[str] = None


@dataclass(frozen=True)
class Checkpoint:
    """The state of a session, which the server keeps for this token."""

    id: str
    bytes: int
    """Size that the server keeps."""
    tools: tuple[str, ...]
    """Names of the tools of the last program before it was made."""
    expires_at: str
    """Time at which the server deletes it unless it is used before, in ISO 8601."""


class Client:
    """Client of a server. ``token`` is an access token of the server. Times are in seconds."""

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
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or not _has_port(parts):
            raise ValueError(f"Cannot create client as 'url' must be an http or https URL: current value is {url!r}")
        self._connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._host = parts.netloc
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._base = parts.path.rstrip("/").removesuffix("/v1") + "/v1"
        self._headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self._retries = retries
        self._backoff = backoff
        self._answer_timeout = answer_timeout

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
    ) -> Session:
        """Opens a session. The caller must close it. It starts with the state of a ``checkpoint``, or its id.

        If all sessions are in use, it retries for ``wait`` seconds, or without limit. The server queues requests too.

        With ``checkpoint_every``, the server takes checkpoints of the session: after every program, command and written
        file (``"exec"``), or so many seconds after the last one. If the interpreter is lost, the session returns to the
        last one, and the result has ``restored_from``.

        The session ends after ``ttl`` seconds, used or not. ``timeout`` and ``memory_bytes`` limit its programs.
        ``metadata`` are texts by name, by which ``sessions`` finds it.

        ``tools`` are functions of this process that programs call as ``paddock.tools.<name>``. Type hints and default
        values of their parameters become a schema that the server checks: ``str``, ``int``, ``float``, ``bool``,
        ``None``, ``list``, ``tuple``, ``dict``, ``Optional``, ``Union``, ``Literal``, ``Any`` and ``Annotated`` with a
        description. They run in up to 32 threads at once and return values of JSON; an exception is raised in the
        program as ``paddock.ToolError``. A call without an answer within ``tool_timeout`` seconds (60) fails. A
        function must not use its own session, which runs the program that waits for it.
        """
        until = None if wait is None else time.monotonic() + wait
        named = _named_tools(tools, tool_timeout)
        limits = _limits(timeout, memory_bytes)
        body = {
            "seed": seed,
            "from": _checkpoint_id(checkpoint),
            "checkpointEvery": checkpoint_every,
            "ttlSeconds": ttl,
            "metadata": metadata,
            "limits": limits,
            "tools": named.specs or None,
        }
        answer = self._post("/sessions", body, full_until=until, waits=True)
        return Session(self, _text(answer, "id"), named.functions)

    def exec(
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
        """Runs one program in its own interpreter. The options are those of ``Session.exec``."""
        body = _program(code, timeout=timeout, stdin=stdin, inputs=inputs, files=files, fetch_files=fetch_files)
        if on_output is None:
            return _result(self._post("/exec", body, timeout=timeout, waits=True))
        read = functools.partial(_read_output, on_output=on_output, open_calls=contextlib.nullcontext)
        result: ExecResult = self._request("POST", "/exec/stream", body, timeout=timeout, read=read, waits=True)
        return result

    def sessions(self, metadata: Optional[Mapping[str, str]] = None) -> list[dict[str, Any]]:
        """Returns the sessions of this token that have this metadata, as the server describes them."""
        return _list(self._request("GET", _sessions_path(metadata)), "sessions")

    def checkpoints(self) -> list[Checkpoint]:
        """Returns the checkpoints of this token, least recently used first."""
        return [_checkpoint(each) for each in _list(self._request("GET", "/checkpoints"), "checkpoints")]

    def delete_checkpoint(self, checkpoint: Union[Checkpoint, str]) -> None:
        """Deletes a checkpoint. Does nothing if the server does not keep it."""
        with _ignoring_missing():
            self._request("DELETE", _checkpoint_path(checkpoint))

    def export_checkpoint(self, checkpoint: Union[Checkpoint, str]) -> bytes:
        """Returns the bytes of a checkpoint, which contain the session's data and are not encrypted."""
        contents: bytes = self._request("GET", _checkpoint_path(checkpoint))
        return contents

    def import_checkpoint(self, contents: bytes) -> Checkpoint:
        """Keeps a checkpoint that was exported, of at most 32 MiB. The server's host must have signed it for this token."""
        return _checkpoint(self._post("/checkpoints", _File(contents)))

    def exec_batch(self, programs: Iterable[Union[str, Mapping[str, Any]]]) -> list[BatchOutcome]:
        """Runs many programs in one request, each in its own interpreter, and returns their outcomes in order.

        A program is its code, or ``{"code", "timeout", "stdin", "inputs", "files", "fetch_files", "session"}``. With
        ``session`` it runs in that ``Session``.
        """
        items, seconds = _batch(programs)
        return _outcomes(self._post("/exec:batch", {"items": items}, timeout=seconds), len(items))

    def grade(self, grader: str, task: Mapping[str, Any], messages: Sequence[Mapping[str, str]]) -> Score:
        """Scores a conversation with one of the server's graders, such as ``gsm8k`` or ``hidden_tests``.

        ``task`` is ``{"id", "query", "answer", "reference", "fields"}``; all keys are optional. A busy server makes
        the grade wait.
        """
        return _score(self._post("/grade", _conversation(grader, task, messages), waits=True))

    def graders(self) -> list[str]:
        """Returns the names of the server's graders."""
        return [str(name) for name in _list(self._request("GET", "/graders"), "graders")]

    def rollout(
        self,
        policy: str,
        tasks: Iterable[Mapping[str, Any]],
        *,
        grader: Union[str, Tool, None] = None,
        tools: Optional[Sequence[Union[str, Tool]]] = None,
        weight_version: Optional[WeightVersion] = None,
        stop: Optional[Callable[[], bool]] = None,
        timeout: Optional[float] = None,
        **options: Any,
    ) -> Generator[dict[str, Any], None, None]:
        """Plays episodes on the server with one of its policies, and yields them in the order of their ends.

        An item is ``{"kind", "group", ...}``: an ``episode``, with a ``trajectory``, or with a ``row`` for a trainer if
        ``tokens=True``; a ``group`` with its ``episodes`` and their advantages, after its last episode; or a
        ``partial`` episode. The server plays ahead while the caller works on an item. Leaving the loop ends the
        rollout.

        ``tasks`` are ``{"query", "id", "answer", "fields", "group"}``. ``weight_version`` and ``stop`` are called after
        the work on each item: the first returns the version of the weights, which turns that begin later record; the
        second whether to stop, which ends the rollout, with ``partial=True`` after the running episodes. ``timeout`` is
        that of a block or a call, in seconds. The other options are those of ``POST /v1/rollouts`` in snake case:
        ``env``, ``model``, ``samples``, ``concurrency``, ``max_turns``, ``cut_score``, ``max_waiting``, ``resumed``,
        ``tool_callers`` (``["code"]`` lets the code of Python blocks call the tools), ``tool_names`` and others. With
        ``env="rlm"``, a recursive language model, code reads the field ``context`` of the task and asks the policy; each
        question is an item after that of its episode, with a ``parent``.

        ``grader`` is the name of a grader of the server, or a function of this process, whose parameters say what it
        gets: ``completion``, ``answer``, ``task``, ``messages``, ``query``, ``fields``, ``code_calls``, or a field of the task. It
        returns a number, ``None``, or a dict with ``score`` and other numbers. ``tools`` are names of tools of the
        server and functions of this process with type hints and docstrings, which the policy may call. Functions are
        called in threads of this process, several at a time, and have ``timeout`` seconds, 60 by default. An exception
        of the grader is an error of the episode, and its traceback goes to stderr; one of a tool is a result that the
        model reads.
        """
        functions = _Functions(grader, tools or (), timeout)
        reading = _Rollout(weight_version, stop)
        body = reading.body(policy, tasks, timeout, {**options, **functions.options})
        if functions.by_name:
            yield from self._rollout_with(functions.by_name, reading, body)
            return
        with self._open("POST", "/rollouts", body, {}, math.inf) as response:
            while not reading.is_over:
                item = reading.add(response.readline(_MAX_RESPONSE_BYTES))
                if item is None:
                    continue
                yield item
                for method, path, change in reading.changes():
                    with _ignoring_missing():  # all episodes have ended
                        self._request(method, path, change, request_id=str(uuid.uuid4()))

    def _rollout_with(
        self, functions: Mapping[str, Tool], reading: _Rollout, body: Mapping[str, Any]
    ) -> Generator[dict[str, Any], None, None]:
        """Plays with functions of this process. A thread reads the response, as they are called at any time."""
        with self._open("POST", "/rollouts", body, {}, math.inf) as response, _Calls(self, "", functions) as calls:
            items: queue.SimpleQueue[Union[dict[str, Any], BaseException, None]] = queue.SimpleQueue()
            reader = threading.Thread(
                target=_read_rollout, args=(response, reading, calls, items), name="paddock-rollout", daemon=True
            )
            reader.start()
            taken = 0
            try:
                while (item := items.get()) is not None:
                    if isinstance(item, BaseException):
                        raise item
                    yield item
                    taken += 1
                    for method, path, change in [*reading.changes(), ("POST", f"{reading.path}/taken", {"items": taken})]:
                        with _ignoring_missing():  # all episodes have ended
                            self._request(method, path, change, request_id=str(uuid.uuid4()))
            finally:
                if reader.is_alive() and reading.path:
                    with contextlib.suppress(PaddockError):  # it has ended, or the server has
                        self._request("DELETE", reading.path, None, request_id=str(uuid.uuid4()))
                reader.join(_CLOSE_SECONDS)
                if reader.is_alive() and response.fp is not None:
                    response.fp.raw.stop()  # type: ignore[attr-defined]
                    reader.join()

    def _post(self, path: str, body: Body, **options: Any) -> dict[str, Any]:
        request_id = str(uuid.uuid4())
        try:
            return _json(self._request("POST", path, body, request_id=request_id, **options), path)
        except BaseException as error:
            if _continues(error):
                self._cancel(request_id)
            raise

    def _cancel(self, request_id: str) -> None:
        try:
            self._once("DELETE", f"/requests/{request_id}", None, {}, 5.0, _read)
        except PaddockError:
            pass  # it ends at its own timeout

    def _request(
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
        read: Optional[Read] = None,
    ) -> Any:
        """Sends a request, with retries. A POST without an id is not sent again if it may have arrived."""
        headers = {} if request_id is None else {"x-request-id": request_id}
        seconds = (answer_timeout or self._answer_timeout) + (timeout or 0)
        is_safe = method != "POST" or request_id is not None
        retry = _Retry(self._retries, self._backoff, is_safe=is_safe, waits=waits, until=full_until)
        while True:
            try:
                return self._once(method, path, body, headers, seconds, read or _read)
            except PaddockError as error:
                time.sleep(retry.pause(error))

    def _once(
        self,
        method: str,
        path: str,
        body: Optional[Body],
        headers: Mapping[str, str],
        seconds: float,
        read: Read,
    ) -> Any:
        """Sends a request once. All failures are ``PaddockError``."""
        with self._open(method, path, body, headers, seconds) as response:
            return read(response)

    @contextlib.contextmanager
    def _open(
        self, method: str, path: str, body: Optional[Body], headers: Mapping[str, str], seconds: float
    ) -> Iterator[http.client.HTTPResponse]:
        """Sends a request once. Its response must be read in the block. All failures are ``PaddockError``."""
        until = time.monotonic() + seconds
        connection = self._connect(self._host, timeout=min(seconds, threading.TIMEOUT_MAX))
        try:
            contents = _contents(body)
            all_headers = {**self._headers, **headers, **_content_type(body)}
            early_disconnect = _send(connection, method, self._base + path, contents, all_headers)
            reader: Any = _DeadlineReader(connection.sock, until)  # of a socket, it needs makefile() only
            response = http.client.HTTPResponse(reader, method=method)
            try:
                response.begin()
            except (OSError, http.client.HTTPException) as error:
                raise early_disconnect or error
            if not 200 <= response.status < 300:
                text = response.read(_MAX_ERROR_BYTES).decode(errors="replace")
                raise _failure(response.status, text, response.getheader("retry-after", ""))
            yield response
        except socket.timeout as error:
            raise _late(self._host, seconds) from error
        except (OSError, http.client.HTTPException) as error:
            raise _lost(self._host, error, unsent=isinstance(error, (ConnectionRefusedError, socket.gaierror))) from error
        finally:
            connection.close()


class Session:
    """An interpreter that keeps its variables and files until it is closed, or idle for ten minutes."""

    def __init__(self, client: Client, session_id: str, tools: Optional[Mapping[str, Tool]] = None) -> None:
        self.id = session_id
        self._client = client
        self._tools = tools or {}
        self._path = _session_path(session_id)
        self._lock = threading.RLock()
        self._closed = False

    def exec(
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
        """Runs a program. ``timeout`` is in seconds; the default is the profile's.

        ``inputs`` are set as globals before the program runs: values of JSON, where whole numbers arrive as ``int``,
        ``bytes``, and arrays of numbers (``array.array``, one-dimensional ``numpy`` arrays), which arrive as
        ``array.array``.

        ``on_output`` is called with ``"stdout"`` or ``"stderr"`` and text while the program runs. The request
        is then not sent again if the connection fails, as in a session with tools.

        With ``suspend_at="tool"``, the result has the status ``waiting`` at each call of one of the session's tools,
        which is not run: ``resume`` gives the answer, hours later if need be. Its output is that since the start.
        """
        body = _program(code, timeout=timeout, stdin=stdin, inputs=inputs, files=files, fetch_files=fetch_files)
        if suspend_at is not None:
            body["suspendAt"] = suspend_at
        with self._lock:
            if on_output is None and (suspend_at is not None or not self._tools):
                return _result(self._client._post(f"{self._path}/exec", body, timeout=timeout))
            calls = functools.partial(_Calls, self._client, self._path, self._tools)
            read = functools.partial(_read_output, on_output=on_output, open_calls=calls)
            result: ExecResult = self._client._request("POST", f"{self._path}/stream", body, timeout=timeout, read=read)
            return result

    def resume(
        self,
        value: Any = None,
        *,
        error: Optional[str] = None,
        call_id: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> ExecResult:
        """Answers the call that a program waits for, with a value of JSON or the text of an error, and returns its next
        result.

        ``call_id`` is the call that is answered: ``PaddockError`` with the reason ``exec_not_waiting`` if the program
        waits for another one.
        """
        body = _tool_answer(value, error, call_id, timeout)
        with self._lock:
            return _result(self._client._post(f"{self._path}/resume", body, timeout=timeout))

    def waiting_call(self) -> Optional[WaitingCall]:
        """Returns the call that a program of the session waits for, or ``None``."""
        with self._lock:
            return _waiting_call(_json(self._client._request("GET", self._path), "get session").get("waiting"))

    def shell(
        self,
        command: str,
        *,
        timeout: Optional[float] = None,
        silence: Optional[float] = None,
        stdin: Optional[str] = None,
    ) -> ExecResult:
        """Runs a command line, if the server's profile has a shell. The exit code is in ``exit_code``.

        A command without output for ``silence`` seconds is interrupted.
        """
        body = {"command": command, "stdin": stdin, "timeoutMs": _ms(timeout), "silenceMs": _ms(silence)}
        with self._lock:
            return _result(self._client._post(f"{self._path}/shell", body, timeout=timeout))

    def write_file(self, path: str, contents: Union[str, bytes]) -> None:
        """Writes a file: relative to the working directory, or at an absolute path of the session's own file system."""
        with self._lock:
            self._client._post(f"{self._path}/files", {"files": _in_base64({path: contents})})

    def read_file(self, path: str) -> bytes:
        """Reads a file, as ``write_file`` names it."""
        with self._lock:
            contents: bytes = self._client._request("GET", f"{self._path}/file?path={_quoted(path)}")
            return contents

    def list_files(self) -> dict[str, int]:
        """Returns the files under the working directory, with their sizes in bytes."""
        with self._lock:
            return _sizes(self._client._request("GET", f"{self._path}/files"))

    def list_dir(self, path: str = ".") -> list[dict[str, Any]]:
        """Returns the entries of a folder, at most 10,000, as dicts with ``path``, ``bytes``, ``type`` and ``modifiedAt``."""
        with self._lock:
            return _list(self._client._request("GET", f"{self._path}/files?path={_quoted(path)}"), "files")

    def make_dir(self, path: str) -> None:
        """Makes a folder and those above it."""
        with self._lock:
            self._client._post(f"{self._path}/directories", {"path": path})

    def remove(self, path: str, recursive: bool = False) -> None:
        """Removes a file or a folder, which must be empty unless ``recursive``."""
        with self._lock:
            self._client._request("DELETE", _removal(self._path, path, recursive))

    def reset(self, mode: str = "fresh", seed: Optional[int] = None) -> None:
        """Resets variables and files. ``rewind`` is faster, but only safe if you trust the last program."""
        with self._lock:
            self._client._post(f"{self._path}/reset", {"mode": mode, "seed": seed})

    def checkpoint(self, memory: bool = True) -> Checkpoint:
        """Keeps the state of the session on the server: variables, files and shell. The session goes on.

        Without ``memory``, it keeps the files alone: a session that is restored then has a fresh interpreter.
        """
        with self._lock:
            return _checkpoint(self._client._post(f"{self._path}/checkpoint", {"memory": memory}))

    def restore(self, checkpoint: Union[Checkpoint, str]) -> None:
        """Returns the session to a checkpoint, or its id. No code runs again."""
        with self._lock:
            self._client._post(f"{self._path}/restore", {"checkpoint": _checkpoint_id(checkpoint)})

    def fork(self, count: int = 1, seed: Optional[int] = None) -> list[Session]:
        """Opens copies of the session, each with other random numbers, which the caller must close.

        With ``seed``, the first copy has random numbers from it, and each further copy from the next integer. Copies can
        call the tools of the session.
        """
        with self._lock:
            answer = self._client._post(f"{self._path}/fork", {"count": count, "seed": seed})
        return [Session(self._client, copy_id, self._tools) for copy_id in _copy_ids(answer)]

    def close(self) -> None:
        """Closes the session. It can be called again and never raises: an unreachable session ends by itself."""
        if self._closed:
            return
        self._closed = True
        try:
            self._client._request("DELETE", self._path, answer_timeout=_CLOSE_SECONDS)
        except PaddockError:
            pass  # an idle session ends by itself

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Calls:
    """Runs the calls of one program in threads and sends the answers."""

    def __init__(self, client: Client, path: str, tools: Mapping[str, Tool]) -> None:
        self._client, self.path, self._tools = client, path, tools
        self._queue: queue.SimpleQueue[Optional[dict[str, Any]]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._started = 0
        """Number of calls that wait for a thread or run, even if the server no longer waits for them."""
        self._unfinished: set[str] = set()
        """Ids of the calls that the server waits for."""

    def __enter__(self) -> _Calls:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._unfinished.clear()
            for _thread in range(self._threads):
                self._queue.put(None)

    def start(self, call: dict[str, Any]) -> None:
        with self._lock:
            self._unfinished.add(_text(call, "callId"))
            self._started += 1
            if self._threads < min(_MAX_THREADS, self._started):
                self._threads += 1
                threading.Thread(target=self._work, name="paddock-tool", daemon=True).start()
        self._queue.put(call)

    def cancel(self, call_id: str) -> None:
        with self._lock:
            self._unfinished.discard(call_id)

    def _work(self) -> None:
        while (call := self._queue.get()) is not None:
            if call["callId"] in self._unfinished:
                self._answer(call)
            with self._lock:
                self._started -= 1
                self._unfinished.discard(call["callId"])

    def _answer(self, call: dict[str, Any]) -> None:
        path = f"{self.path}/calls/{_quoted(call['callId'])}"
        try:
            self._client._post(path, self._run(call))
        except PaddockError as error:
            if error.status in _CALL_OVER:
                return
            try:
                self._client._post(path, _error_answer(error))  # the server refuses the value, such as one that is too large
            except PaddockError:
                pass  # the server reports that the call had no answer

    def _run(self, call: dict[str, Any]) -> bytes:
        try:
            value = self._tools[_text(call, "name")](**call["arguments"])
            if inspect.iscoroutine(value):
                import asyncio

                value = asyncio.run(value)
            return _value_answer(value)
        except BaseException as error:  # SystemExit too: the program waits for an answer
            return _error_answer(error)


def _value_answer(value: Any) -> bytes:
    return json.dumps({"value": value}, allow_nan=False).encode()


def _error_answer(error: BaseException) -> bytes:
    answer = {"type": type(error).__name__[:256], "message": str(error)[:_MAX_ERROR_CHARACTERS]}
    return json.dumps({"error": answer}).encode()


class _NamedTools(typing.NamedTuple):
    """Functions by their names, with their descriptions in the server's format."""

    specs: list[dict[str, Any]]
    functions: dict[str, Tool]


def _named_tools(tools: Sequence[Tool], timeout: Optional[float]) -> _NamedTools:
    specs = [_tool_spec(tool, timeout) for tool in tools]
    return _NamedTools(specs, {spec["name"]: tool for spec, tool in zip(specs, tools)})


def _tool_spec(tool: Tool, timeout: Optional[float]) -> dict[str, Any]:
    """Returns the description of a function in the server's format."""
    name = getattr(tool, "__name__", "")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise TypeError(f"Cannot offer tool as it must be a function with a name: current value is {tool!r}")
    hints = typing.get_type_hints(tool, include_extras=True)
    properties: dict[str, Any] = {}
    required = []
    for parameter in inspect.signature(tool).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"Cannot offer {name}() as its parameters must have names: found '{parameter}'")
        schema = _schema(hints.get(parameter.name, Any), f"Cannot offer {name}() as the type of {parameter.name!r}")
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        elif isinstance(parameter.default, (str, int, float, bool)):
            schema = {**schema, "default": parameter.default}
        properties[parameter.name] = schema
    parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    spec = {"name": name, "description": inspect.getdoc(tool) or "", "parameters": parameters}
    return spec if timeout is None else {**spec, "timeoutMs": _ms(timeout)}


_SCHEMAS: dict[Any, dict[str, Any]] = {
    Any: {},
    type(None): {"type": "null"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    list: {"type": "array"},
    tuple: {"type": "array"},
    dict: {"type": "object"},
}
"""JSON Schemas of types without arguments."""


def _schema(hint: Any, problem: str) -> dict[str, Any]:
    """Returns the JSON Schema of a type hint."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is None and hint in _SCHEMAS:
        return _SCHEMAS[hint]
    if origin is typing.Annotated:
        text = " ".join(extra for extra in args[1:] if isinstance(extra, str))
        return {**_schema(args[0], problem), **({"description": text} if text else {})}
    if origin is typing.Literal and all(value is None or isinstance(value, (str, int)) for value in args):
        return {"enum": list(args)}
    if origin is Union or getattr(origin, "__name__", "") == "UnionType":
        return {"anyOf": [_schema(arg, problem) for arg in args]}
    if origin is list or origin is tuple and args[1:] == (...,):
        return {"type": "array", "items": _schema(args[0], problem)}
    if origin is tuple:
        items = [_schema(arg, problem) for arg in args]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if origin is dict and args[0] is str:
        return {"type": "object", "additionalProperties": _schema(args[1], problem)}
    raise TypeError(f"{problem} must be one of JSON, such as str or list[int]: found {hint!r}")


def _program(
    code: str,
    *,
    timeout: Optional[float] = None,
    stdin: Optional[str] = None,
    inputs: Optional[Mapping[str, Any]] = None,
    files: Optional[Files] = None,
    fetch_files: Sequence[str] = (),
) -> dict[str, Any]:
    """Returns a program in the server's format."""
    body: dict[str, Any] = {"code": code, "timeoutMs": _ms(timeout), "stdin": stdin}
    for name, value in (inputs or {}).items():
        binary = _binary_input(name, value)
        body.setdefault("inputs" if binary is None else "binaryInputs", {})[name] = binary or value
    if files:
        body["files"] = _in_base64(files)
    if fetch_files:
        body["fetchFiles"] = list(fetch_files)
    return {key: value for key, value in body.items() if value is not None}


def _tool_answer(value: Any, error: Optional[str], call_id: Optional[str], timeout: Optional[float]) -> bytes:
    """Returns the answer to a call that waits, in the server's format. A value of ``None`` is an answer too."""
    body: dict[str, Any] = {"value": value} if error is None else {"error": {"message": error}}
    if call_id is not None:
        body["callId"] = call_id
    if timeout is not None:
        body["timeoutMs"] = _ms(timeout)
    return json.dumps(body, allow_nan=False).encode()


def _batch(programs: Iterable[Union[str, Mapping[str, Any]]]) -> tuple[list[dict[str, Any]], float]:
    """Returns the programs of a batch in the server's format, and the sum of their timeouts in seconds."""
    items, seconds = [], 0.0
    for given in programs:
        program: dict[str, Any] = {"code": given} if isinstance(given, str) else dict(given)
        session = program.pop("session", None)
        items.append({**_program(**program), **({} if session is None else {"session": session.id})})
        seconds += program.get("timeout") or 0
    return items, seconds


def _conversation(grader: str, task: Mapping[str, Any], messages: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    return {"grader": grader, "task": dict(task), "messages": [dict(message) for message in messages]}


def _quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="")


def _session_path(session_id: str) -> str:
    return f"/sessions/{_quoted(session_id)}"


def _sessions_path(metadata: Optional[Mapping[str, str]]) -> str:
    return f"/sessions?metadata={_quoted(urllib.parse.urlencode(metadata or {}))}"


def _checkpoint_id(checkpoint: Union[Checkpoint, str, None]) -> Optional[str]:
    return checkpoint.id if isinstance(checkpoint, Checkpoint) else checkpoint


def _checkpoint_path(checkpoint: Union[Checkpoint, str]) -> str:
    return f"/checkpoints/{_quoted(_checkpoint_id(checkpoint) or '')}"


def _removal(session_path: str, path: str, recursive: bool) -> str:
    """Returns the path of the request that removes a file or folder."""
    query = urllib.parse.urlencode({"path": path, "recursive": "true" if recursive else "false"})
    return f"{session_path}/files?{query}"


def _limits(timeout: Optional[float], memory_bytes: Optional[int]) -> Optional[dict[str, Any]]:
    limits = {"timeoutMs": _ms(timeout), "memoryBytes": memory_bytes}
    return {name: limit for name, limit in limits.items() if limit is not None} or None


def _binary_input(name: str, value: Any) -> Optional[dict[str, str]]:
    """Returns bytes or an array of numbers in the server's format, or None for another value."""
    try:
        view = memoryview(value)
    except TypeError:
        return None
    if view.ndim == 0:
        return None  # a number of numpy
    letter = view.format.lstrip("@=<" if sys.byteorder == "little" else "<")
    kind = f"{_NUMBERS.get(letter)}{8 * view.itemsize}"
    if isinstance(value, (bytes, bytearray, memoryview)) or kind == "uint8":
        kind = "bytes"
    elif view.ndim != 1 or letter not in _NUMBERS:
        raise ValueError(f"Cannot exec as input {name!r} must be bytes or a one-dimensional array of numbers")
    return {"type": kind, "base64": base64.b64encode(view.tobytes()).decode()}


def _ms(seconds: Optional[float]) -> Optional[float]:
    return None if seconds is None else seconds * 1000


def _in_base64(files: Files) -> dict[str, str]:
    texts = {path: _utf8(text) if isinstance(text, str) else text for path, text in files.items()}
    return {path: base64.b64encode(text).decode() for path, text in texts.items()}


def _utf8(text: str) -> bytes:
    """Encodes text as UTF-8, with a replacement character for each unpaired surrogate."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _contents(body: Optional[Body]) -> Optional[bytes]:
    """Returns the bytes of a body. Fields without a value are left out."""
    if isinstance(body, Mapping):
        return json.dumps({key: value for key, value in body.items() if value is not None}).encode()
    return body


def _content_type(body: Optional[Body]) -> dict[str, str]:
    """Returns the header of a body."""
    if body is None:
        return {}
    return {"content-type": "application/octet-stream" if isinstance(body, _File) else "application/json"}


def _has_port(parts: urllib.parse.SplitResult) -> bool:
    try:
        return parts.port != 0
    except ValueError:
        return False


def _send(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: Optional[bytes],
    headers: Mapping[str, str],
) -> Optional[Exception]:
    """Sends a request. If the server disconnects early, it may have sent a response, so the error is returned."""
    try:
        connection.request(method, path, body=body, headers=headers)
    except (BrokenPipeError, ConnectionResetError) as error:
        if connection.sock is None:
            raise
        return error
    return None


class _DeadlineReader(io.RawIOBase):
    """Reads a socket with a total deadline, and does not close it."""

    def __init__(self, sock: socket.socket, until: float) -> None:
        self._sock, self._until = sock, until

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self, 1 << 16)

    def readable(self) -> bool:
        return True

    def stop(self) -> None:
        """Ends the connection for a thread that reads."""
        with contextlib.suppress(OSError):  # it has ended
            self._sock.shutdown(socket.SHUT_RDWR)

    def readinto(self, buffer: Any) -> int:
        left = self._until - time.monotonic()
        if left <= 0:
            raise socket.timeout("timed out")
        self._sock.settimeout(min(left, threading.TIMEOUT_MAX))
        return self._sock.recv_into(buffer)


def _read(response: http.client.HTTPResponse) -> bytes:
    contents = response.read(_MAX_RESPONSE_BYTES + 1)
    if len(contents) > _MAX_RESPONSE_BYTES:
        raise _too_large()
    if response.length:
        raise http.client.IncompleteRead(contents, response.length)
    return contents


def _read_output(
    response: http.client.HTTPResponse, on_output: Optional[OnOutput], open_calls: Callable[[], Any]
) -> ExecResult:
    """Reads server-sent events: output and calls, and the result as the last event."""
    with open_calls() as calls:
        return _read_events(response, on_output, calls)


def _read_events(response: http.client.HTTPResponse, on_output: Optional[OnOutput], calls: Optional[_Calls]) -> ExecResult:
    events = _Events(on_output)
    while line := response.readline(_MAX_RESPONSE_BYTES):
        event = events.add(line)
        if isinstance(event, ExecResult):
            return event
        if event is not None and calls is not None:
            name, call = event
            if name == "call":
                calls.start(call)
            else:
                calls.cancel(_text(call, "callId"))
    raise PaddockError(_NO_RESULT)


@contextlib.contextmanager
def _ignoring_missing() -> Iterator[None]:
    """Ignores that the server has no such thing any more."""
    try:
        yield
    except PaddockError as error:
        if error.kind != "not_found":
            raise


class _EventLines:
    """Joins the lines of server-sent events."""

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._name, self._data = "", ""

    def add(self, line: bytes) -> Optional[tuple[str, dict[str, Any]]]:
        """Returns the name and the data of an event if the line completes it. Raises that of the event ``error``."""
        text = line.decode(errors="replace").rstrip("\r\n")
        key, _, value = text.partition(":")
        if key == "event":
            self._name = value.strip()
        elif key == "data":
            self._data += value
        if text:
            return None
        name, event = self._name, _json(self._data.encode(), self._doing)
        self._name, self._data = "", ""
        if name == "error":
            raise PaddockError(_text(event, "message"), kind=_text(event, "type"))
        return name, event


class _Rollout:
    """Reads the events of a rollout line by line, and says what the server must be told."""

    def __init__(self, weight_version: Optional[WeightVersion], stop: Optional[Callable[[], bool]]) -> None:
        self._weight_version, self._stop = weight_version, stop
        self._version = None if weight_version is None else weight_version()
        self._lines, self.path = _EventLines("roll out"), ""
        self.is_over = False
        """True after the last event."""

    def body(
        self, policy: str, tasks: Iterable[Mapping[str, Any]], timeout: Optional[float], options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Returns the request that starts the rollout."""
        given = {re.sub("_(.)", lambda found: found[1].upper(), name): value for name, value in options.items()}
        fields = {"policy": policy, "tasks": [dict(task) for task in tasks], "timeoutMs": _ms(timeout)}
        return {**given, **fields, "weightVersion": self._version}

    def add(self, line: bytes, calls: Optional[_Calls] = None) -> Optional[dict[str, Any]]:
        """Returns an item if the line completes it. Starts and cancels the calls that it completes."""
        if not line:
            raise PaddockError("Cannot roll out as the response ended before its last event")
        name, data = self._lines.add(line) or ("", {})
        self.is_over = name == "end"
        if name == "start":
            self.path = f"/rollouts/{urllib.parse.quote(_text(data, 'id'), safe='')}"
        if calls is not None:
            calls.path = self.path
            if name == "call":
                calls.start(data)
            elif name == "cancel":
                calls.cancel(_text(data, "callId"))
        return {"kind": name, **data} if name in ("episode", "partial", "group") else None

    def changes(self) -> Iterator[tuple[str, str, Optional[dict[str, Any]]]]:
        """Yields the requests, as method, path and body, that the work on an item has made necessary."""
        before, self._version = self._version, self._version if self._weight_version is None else self._weight_version()
        if self._version != before:
            yield "POST", f"{self.path}/version", {"weightVersion": self._version}
        if self._stop is not None and self._stop():
            self._stop = None
            yield "DELETE", self.path, None


class _Functions:
    """Functions of the caller that a rollout calls."""

    def __init__(self, grader: Union[str, Tool, None], tools: Sequence[Union[str, Tool]], timeout: Optional[float]) -> None:
        own = [tool for tool in tools if not isinstance(tool, str)]
        named = _named_tools(own, timeout)
        self.by_name: dict[str, Tool] = dict(named.functions)
        self.options: dict[str, Any] = {}
        """Options of the request."""
        if own:
            self.options["client_tools"] = named.specs
        if len(own) < len(tools):
            self.options["tools"] = [tool for tool in tools if isinstance(tool, str)]
        if isinstance(grader, str):
            self.options["grader"] = grader
        elif grader is not None:
            self.by_name[_GRADE] = _grade_function(grader)
            self.options["client_grader"] = {} if timeout is None else {"timeoutMs": _ms(timeout)}


_GRADE_VALUES = ("completion", "answer", "task", "messages", "query", "fields", "code_calls")
_GRADED = "a number, None, or a dict with 'score' whose other values are numbers"


def _grade_function(grader: Tool) -> Tool:
    """Returns a function that takes what a call has, passes what the grader's parameters name, and checks its result.

    Raises ``TypeError`` if a parameter has no name.
    """
    name = getattr(grader, "__name__", type(grader).__name__)
    parameters = list(inspect.signature(grader).parameters.values())
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            raise TypeError(f"Cannot grade with {name}() as its parameters must have names: found '{parameter}'")

    def grade(task: Mapping[str, Any], codeCalls: Sequence[Mapping[str, Any]] = (), **call: Any) -> Any:
        fields = task.get("fields") or {}
        values = {**call, "code_calls": list(codeCalls), "task": task, "fields": fields, "query": _text_of(task.get("query"))}
        try:
            value = grader(**_grade_arguments(name, parameters, values, fields))
            if inspect.isawaitable(value):
                value = _awaited(value)
            return _score_of(value, name)
        except Exception as error:
            traceback.print_exc()
            raise _GradeError(f"{type(error).__name__}: {error}{_place_of(error)}") from error

    return grade


class _GradeError(Exception):
    """The error of a grader, with its place in the caller's files."""


def _awaited(value: Any) -> Any:
    import asyncio

    async def wait() -> Any:
        return await value

    return asyncio.run(wait())


def _grade_arguments(name: str, parameters: list[inspect.Parameter], values: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    named = {parameter.name for parameter in parameters}
    given: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.kind == parameter.VAR_KEYWORD:
            given.update({key: value for key, value in {**fields, **values}.items() if key not in named})
        elif values.get(parameter.name) is not None:
            given[parameter.name] = values[parameter.name]
        elif parameter.name in fields:
            given[parameter.name] = fields[parameter.name]
        elif parameter.default is parameter.empty and parameter.name in _GRADE_VALUES:
            given[parameter.name] = None
        elif parameter.default is parameter.empty:
            columns = ", ".join(map(repr, fields)) or "it has none"
            raise TypeError(f"the parameter '{parameter.name}' of {name}() must be one of {', '.join(_GRADE_VALUES)}, or a field of the task: {columns}")
    return given


def _text_of(query: Any) -> str:
    if isinstance(query, str):
        return query
    return "\n\n".join(str(message.get("content", "")) for message in query or [])


def _score_of(value: Any, name: str) -> Any:
    if not isinstance(value, dict):
        return _number_of(value, f"{name}() must return {_GRADED}: it returned")
    if "score" not in value:
        raise TypeError(f"the dict that {name}() returns must have 'score': it has {', '.join(map(repr, value)) or 'no keys'}")
    reason = value.get("reason")
    parts = {
        key: _number_of(each, f"'{key}' of the dict that {name}() returns must be a number or None: it is")
        for key, each in value.items()
        if not (key == "reason" and isinstance(each, str))
    }
    score: dict[str, Any] = {"score": parts.pop("score"), "parts": parts}
    return {**score, "reason": reason[:1000]} if isinstance(reason, str) else score


def _number_of(value: Any, problem: str) -> Any:
    if value is None:
        return None
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()  # a number of numpy or torch
    if not isinstance(value, numbers.Real):
        raise TypeError(f"{problem} {value!r:.80}, a value of type {type(value).__name__}")
    if not math.isfinite(value):
        raise ValueError(f"{problem} {value}")
    return float(value)


def _place_of(error: BaseException) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    return f" ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""


def _read_rollout(
    response: http.client.HTTPResponse,
    reading: _Rollout,
    calls: _Calls,
    items: queue.SimpleQueue[Union[dict[str, Any], BaseException, None]],
) -> None:
    """Reads a rollout to its end. Puts its items, and at last its failure or ``None``."""
    try:
        while not reading.is_over:
            item = reading.add(response.readline(_MAX_RESPONSE_BYTES), calls)
            if item is not None:
                items.put(item)
        items.put(None)
    except BaseException as error:
        items.put(error)


class _Events:
    """Reads the events of a program line by line, and passes output on."""

    def __init__(self, on_output: Optional[OnOutput]) -> None:
        self._on_output = on_output
        self._lines = _EventLines("exec")

    def add(self, line: bytes) -> Union[ExecResult, tuple[str, dict[str, Any]], None]:
        """Returns the result, or the start (``call``) or end (``cancel``) of a call, if the line completes it."""
        complete = self._lines.add(line)
        if complete is None:
            return None
        name, event = complete
        if name == "result":
            return _result(event)
        if name in ("stdout", "stderr") and self._on_output is not None:
            self._on_output(name, _text(event, "text"))
        return (name, event) if name in ("call", "cancel") else None


def _json(contents: bytes, doing: str) -> dict[str, Any]:
    try:
        value = json.loads(contents) if contents else {}
    except (ValueError, RecursionError) as error:
        raise PaddockError(f"Cannot {doing} as the response is not JSON") from error
    if not isinstance(value, dict):
        raise PaddockError(f"Cannot {doing} as the response is not an object")
    return value


def _list(contents: bytes, key: str) -> list[Any]:
    """Returns the list with this name in a response."""
    values = _json(contents, f"list {key}").get(key)
    if not isinstance(values, list):
        raise PaddockError(f"Cannot list {key} as the response has no list of {key}")
    return values


def _sizes(contents: bytes) -> dict[str, int]:
    return {_text(file, "path"): int(file.get("bytes", 0)) for file in _list(contents, "files")}


def _text(value: Mapping[str, Any], key: str) -> str:
    text = value.get(key) if isinstance(value, dict) else None
    if not isinstance(text, str):
        raise PaddockError(f"The response is invalid: {key!r} must be a text")
    return text


def _checkpoint(answer: Mapping[str, Any]) -> Checkpoint:
    checkpoint_id, expires_at = _text(answer, "id"), _text(answer, "expiresAt")
    size, tools = answer.get("bytes"), answer.get("tools")
    if not isinstance(size, int) or not isinstance(tools, list):
        raise PaddockError("The response is invalid: 'bytes' must be a number and 'tools' a list")
    return Checkpoint(checkpoint_id, size, tuple(str(name) for name in tools), expires_at)


def _copy_ids(answer: Mapping[str, Any]) -> list[str]:
    copies = answer.get("sessions")
    if not isinstance(copies, list):
        raise PaddockError("Cannot fork session as the response has no list of sessions")
    return [_text(copy, "id") for copy in copies]


def _restored_from(value: Any) -> Optional[RestoredFrom]:
    return None if value is None else RestoredFrom(int(value["lostCalls"]), float(value["ageMs"]))


def _waiting_call(value: Any) -> Optional[WaitingCall]:
    return None if value is None else WaitingCall(_text(value, "callId"), _text(value, "name"), dict(value["arguments"]))


def _result(answer: Mapping[str, Any]) -> ExecResult:
    error = answer.get("error")
    files = answer.get("files") or {}
    try:
        contents = {path: base64.b64decode(text, validate=True) for path, text in files.items()}
        return ExecResult(
            status=_text(answer, "status"),
            stdout=_text(answer, "stdout"),
            stderr=_text(answer, "stderr"),
            duration_ms=float(answer["durationMs"]),
            state_kept=answer["stateKept"] is True,
            truncated=answer["truncated"] is True,
            restarted=answer.get("restarted") is True,
            value=answer.get("value"),
            value_json=answer.get("valueJson"),
            display=answer.get("display") or [],
            dropped_displays=int(answer.get("droppedDisplays", 0)),
            error=error and GuestError(_text(error, "type"), _text(error, "message"), _text(error, "traceback")),
            exit_code=answer.get("exitCode"),
            cwd=answer.get("cwd"),
            files=contents,
            restored_from=_restored_from(answer.get("restoredFrom")),
            peak_memory_bytes=answer.get("peakMemoryBytes"),
            digest=answer.get("digest"),
            inexact=answer.get("inexact") is True,
            call=_waiting_call(answer.get("call")),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as cause:
        raise PaddockError("The response is invalid: it is not a result") from cause


def _score(answer: Mapping[str, Any]) -> Score:
    score = answer.get("score")
    if score is not None and not isinstance(score, (int, float)):
        raise PaddockError("Cannot grade as the response has no score")
    return Score(score, answer.get("parts") or {}, answer.get("reason"))


def _outcomes(answer: Mapping[str, Any], count: int) -> list[BatchOutcome]:
    results = answer.get("results")
    if not isinstance(results, list) or len(results) != count:
        raise PaddockError("Cannot exec batch as the response must have one result per program")
    return [_outcome(result) for result in results]


def _outcome(answer: Any) -> BatchOutcome:
    result = answer.get("result") if isinstance(answer, dict) else None
    if result is not None:
        return BatchOutcome(_result(result), None)
    error = (answer.get("error") if isinstance(answer, dict) else None) or {}
    status = answer.get("status") if isinstance(answer, dict) else None
    return BatchOutcome(None, PaddockError(_text(error, "message"), status, _text(error, "type")))


class _Retry:
    """Decides whether a failed request is sent again, and when."""

    def __init__(self, retries: int, backoff: float, *, is_safe: bool, waits: bool, until: Optional[float]) -> None:
        """``is_safe`` requests can be sent twice. One that ``waits`` is sent until a full server has room, or ``until``."""
        self._retries, self._backoff = retries, backoff
        self._is_safe, self._waits, self._until = is_safe, waits, until
        self._failures = 0

    def pause(self, error: PaddockError) -> float:
        """Returns the seconds to wait before the next try, or raises the error."""
        self._failures += 1
        left = math.inf if self._until is None else self._until - time.monotonic()
        full = self._waits and (error.status == 429 or error.kind == "timeout")
        if full:
            again = left > 0
        else:
            reached = error.status in _GATEWAY or error._unsent is False
            fails = error.status in _BUSY or error._unsent is not None
            again = fails and (self._is_safe or not reached) and self._failures <= self._retries
        retry_after = error.retry_after or 0.0
        if not again or retry_after > _MAX_PAUSE_SECONDS:
            raise error
        longest = self._backoff if full else min(_MAX_PAUSE_SECONDS, self._backoff * 2 ** (self._failures - 1))
        pause = max(retry_after, longest * random.uniform(0.5, 1))
        return min(pause, left) if full else pause


def _too_large() -> PaddockError:
    return PaddockError(f"Cannot read response as it must have at most {_MAX_RESPONSE_BYTES} bytes: found more")


def _late(host: str, seconds: float) -> PaddockError:
    """Returns the error of a response that did not arrive in time. Its cause must be the time-out."""
    return PaddockError(f"Cannot get response from {host} within {seconds} s")


def _lost(host: str, cause: Exception, *, unsent: bool) -> PaddockError:
    """Returns the error of a connection that failed."""
    hint = "; no server runs there: 'paddock serve' starts one" if isinstance(cause, ConnectionRefusedError) else ""
    error = PaddockError(f"Cannot reach {host}: {cause!r}{hint}")
    error._unsent = unsent
    return error


def _continues(error: BaseException) -> bool:
    """Returns true if the program may continue to run after this error of a request, such as Ctrl-C."""
    return not isinstance(error, Exception) or isinstance(error.__cause__, socket.timeout)


def _failure(status: int, text: str, retry_after: str) -> PaddockError:
    """Returns the error of a response that failed."""
    try:
        error = json.loads(text)["error"]
        kind, message, reason = _text(error, "type"), _text(error, "message"), str(error.get("reason") or "")
    except (KeyError, TypeError, ValueError, RecursionError, PaddockError):
        kind, message, reason = "", " ".join(text.split())[:300], ""
    seconds = float(retry_after) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", retry_after, re.ASCII) else None
    return PaddockError(f"The server answered {status}: {message}", status, kind, seconds, reason)
