"""Client of ``paddock serve`` in one file. It needs Python 3.9 or later and only the standard library.

    from paddock_client import PaddockClient

    client = PaddockClient("http://127.0.0.1:8471")
    with client.session() as session:
        session.exec("x = 20")
        print(session.exec("x + 1").value)  # 21

A failure of a program is a result, not an exception: see ``ExecResult.status``. If the connection fails or the server
is busy, the client sends a request again; its id ensures that it runs only once. All other failures raise
``PaddockError``. A client can be used from several threads. A session runs one program at a time.
"""

from __future__ import annotations

import base64
import functools
import http.client
import io
import json
import math
import random
import re
import socket
import threading
import time
import urllib.parse
import uuid
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

__all__ = ["BatchOutcome", "ExecResult", "GuestError", "PaddockClient", "PaddockError", "Score", "Session"]

Files = Mapping[str, Union[str, bytes]]
OnOutput = Callable[[str, str], None]
Read = Callable[[http.client.HTTPResponse], Any]

_BUSY = (408, 429, 502, 503, 504)
_GATEWAY = (502, 504)
_MAX_PAUSE_SECONDS = 60.0
_CLOSE_SECONDS = 10.0
_MAX_RESPONSE_BYTES = 512 * 1024 * 1024


class PaddockError(Exception):
    """A failed request. ``status`` is its HTTP status, or ``None`` if there was no response."""

    def __init__(
        self,
        message: str,
        status: Optional[int] = None,
        kind: str = "",
        retry_after: Optional[float] = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        """Error type of the server, such as ``not_found`` or ``busy``."""
        self.retry_after = retry_after
        """Seconds to wait before a retry, as set by the server."""


@dataclass(frozen=True)
class GuestError:
    """Python exception of the program."""

    type: str
    message: str
    traceback: str


@dataclass(frozen=True)
class ExecResult:
    """Result of a program or a command line."""

    status: str
    """``ok``, ``error``, ``timeout``, ``memory``, ``output``, ``exited`` or ``crashed``."""
    stdout: str
    stderr: str
    duration_ms: float
    state_kept: bool
    """False if the interpreter was lost. The next program then runs in a new one."""
    truncated: bool
    restarted: bool = False
    """True if this program ran in a new interpreter, because the previous one was lost."""
    value: Optional[str] = None
    """``repr`` of the last expression, unless it is None."""
    error: Optional[GuestError] = None
    exit_code: Optional[int] = None
    cwd: Optional[str] = None
    """Working directory of the shell after the command; None for a program."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """The requested files; missing ones are left out."""

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


class PaddockClient:
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
        self._base = parts.path.rstrip("/").removesuffix("/v1") + "/v1"
        self._headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self._retries = retries
        self._backoff = backoff
        self._answer_timeout = answer_timeout

    def session(self, seed: Optional[int] = None, wait: Optional[float] = None) -> Session:
        """Opens a session. The caller must close it.

        If all sessions are in use, it retries for ``wait`` seconds, or without limit. The server queues requests too.
        """
        until = None if wait is None else time.monotonic() + wait
        answer = self._post("/sessions", {"seed": seed}, full_until=until, waits=True)
        return Session(self, _text(answer, "id"))

    def exec(self, code: str, **options: Any) -> ExecResult:
        """Runs one program in its own interpreter. The options are those of ``Session.exec``."""
        with self.session() as session:
            return session.exec(code, **options)

    def exec_batch(self, programs: Iterable[Union[str, Mapping[str, Any]]]) -> list[BatchOutcome]:
        """Runs many programs in one request, each in its own interpreter, and returns their outcomes in order.

        A program is its code, or ``{"code", "timeout", "stdin", "files", "fetch_files", "session"}``. With
        ``session`` it runs in that ``Session``.
        """
        given = [{"code": program} if isinstance(program, str) else dict(program) for program in programs]
        items = []
        for program in given:
            session = program.pop("session", None)
            items.append({**_program(**program), **({} if session is None else {"session": session.id})})
        seconds = sum(program.get("timeout") or 0 for program in given)
        answer = self._post("/exec:batch", {"items": items}, timeout=seconds)
        results = answer.get("results")
        if not isinstance(results, list) or len(results) != len(items):
            raise PaddockError("Cannot exec batch as the response must have one result per program")
        return [_outcome(result) for result in results]

    def grade(self, grader: str, task: Mapping[str, Any], messages: Sequence[Mapping[str, str]]) -> Score:
        """Scores a conversation with one of the server's graders, such as ``gsm8k`` or ``hidden_tests``.

        ``task`` is ``{"id", "query", "answer", "reference", "fields"}``; all keys are optional.
        """
        body = {"grader": grader, "task": dict(task), "messages": [dict(message) for message in messages]}
        answer = self._post("/grade", body)
        score = answer.get("score")
        if score is not None and not isinstance(score, (int, float)):
            raise PaddockError("Cannot grade as the response has no score")
        return Score(score, answer.get("parts") or {}, answer.get("reason"))

    def graders(self) -> list[str]:
        """Returns the names of the server's graders."""
        names = _json(self._request("GET", "/graders"), "list graders").get("graders")
        if not isinstance(names, list):
            raise PaddockError("Cannot list graders as the response has no list of graders")
        return [str(name) for name in names]

    def _post(self, path: str, body: Mapping[str, Any], **options: Any) -> dict[str, Any]:
        request_id = str(uuid.uuid4())
        try:
            return _json(self._request("POST", path, body, request_id=request_id, **options), path)
        except BaseException as error:
            late = isinstance(error, PaddockError) and isinstance(error.__cause__, socket.timeout)
            if late or not isinstance(error, Exception):  # such as Ctrl-C: the program would continue to run
                self._cancel(request_id)
            raise

    def _cancel(self, request_id: str) -> None:
        try:
            self._once("DELETE", f"/requests/{request_id}", None, {}, 5.0, _read)
        except (OSError, http.client.HTTPException, PaddockError):
            pass  # it ends at its own timeout

    def _request(
        self,
        method: str,
        path: str,
        body: Optional[Mapping[str, Any]] = None,
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
        tries = 0
        while True:
            tries += 1
            retry_after = None
            try:
                return self._once(method, path, body, headers, seconds, read or _read)
            except PaddockError as error:
                failed, retry_after = error, error.retry_after
                full = waits and (error.status == 429 or error.kind == "timeout")
                again = error.status in _BUSY and (is_safe or error.status not in _GATEWAY)
                if full and full_until is not None and time.monotonic() >= full_until:
                    raise
            except socket.timeout as error:
                raise PaddockError(f"Cannot get response from {self._host} within {seconds} s") from error
            except (OSError, http.client.HTTPException) as error:
                failed = PaddockError(f"Cannot reach {self._host}: {error!r}")
                failed.__cause__ = error
                again = is_safe or isinstance(error, (ConnectionRefusedError, socket.gaierror))
                full = False
            if (retry_after or 0) > _MAX_PAUSE_SECONDS or not full and (not again or tries > self._retries):
                raise failed
            longest = self._backoff if full else min(_MAX_PAUSE_SECONDS, self._backoff * 2 ** (tries - 1))
            pause = max(retry_after or 0, longest * random.uniform(0.5, 1))
            left = math.inf if full_until is None else full_until - time.monotonic()
            time.sleep(max(0, min(pause, left)) if full else pause)

    def _once(
        self,
        method: str,
        path: str,
        body: Optional[Mapping[str, Any]],
        headers: Mapping[str, str],
        seconds: float,
        read: Read,
    ) -> Any:
        until = time.monotonic() + seconds
        connection = self._connect(self._host, timeout=min(seconds, threading.TIMEOUT_MAX))
        try:
            text = None if body is None else json.dumps({k: v for k, v in body.items() if v is not None})
            all_headers = {**self._headers, **headers, **({} if text is None else {"content-type": "application/json"})}
            early_disconnect = _send(connection, method, self._base + path, text and text.encode(), all_headers)
            response = http.client.HTTPResponse(_DeadlineReader(connection.sock, until), method=method)
            try:
                response.begin()
            except (OSError, http.client.HTTPException) as error:
                raise early_disconnect or error
            if not 200 <= response.status < 300:
                raise _error_of(response)
            return read(response)
        finally:
            connection.close()


class Session:
    """An interpreter that keeps its variables and files until it is closed, or idle for ten minutes."""

    def __init__(self, client: PaddockClient, session_id: str) -> None:
        self.id = session_id
        self._client = client
        self._path = f"/sessions/{urllib.parse.quote(session_id, safe='')}"
        self._lock = threading.RLock()
        self._closed = False

    def exec(
        self,
        code: str,
        *,
        timeout: Optional[float] = None,
        stdin: Optional[str] = None,
        files: Optional[Files] = None,
        fetch_files: Sequence[str] = (),
        on_output: Optional[OnOutput] = None,
    ) -> ExecResult:
        """Runs a program. ``timeout`` is in seconds; the default is the profile's.

        ``on_output`` is called with ``"stdout"`` or ``"stderr"`` and text while the program runs. The request
        is then not sent again if the connection fails.
        """
        body = _program(code, timeout=timeout, stdin=stdin, files=files, fetch_files=fetch_files)
        with self._lock:
            if on_output is None:
                return _result(self._client._post(f"{self._path}/exec", body, timeout=timeout))
            read = functools.partial(_read_output, on_output=on_output)
            return self._client._request("POST", f"{self._path}/stream", body, timeout=timeout, read=read)

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
        """Writes a file under the working directory."""
        with self._lock:
            self._client._post(f"{self._path}/files", {"files": _in_base64({path: contents})})

    def read_file(self, path: str) -> bytes:
        """Reads a file under the working directory."""
        with self._lock:
            return self._client._request("GET", f"{self._path}/file?path={urllib.parse.quote(path, safe='')}")

    def list_files(self) -> dict[str, int]:
        """Returns the files under the working directory, with their sizes in bytes."""
        with self._lock:
            answer = _json(self._client._request("GET", f"{self._path}/files"), "list files")
        return {_text(file, "path"): int(file.get("bytes", 0)) for file in answer.get("files", [])}

    def reset(self, mode: str = "fresh", seed: Optional[int] = None) -> None:
        """Resets variables and files. ``rewind`` is faster, but only safe if you trust the last program."""
        with self._lock:
            self._client._post(f"{self._path}/reset", {"mode": mode, "seed": seed})

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


def _program(
    code: str,
    *,
    timeout: Optional[float] = None,
    stdin: Optional[str] = None,
    files: Optional[Files] = None,
    fetch_files: Sequence[str] = (),
) -> dict[str, Any]:
    """Returns a program in the server's format."""
    body: dict[str, Any] = {"code": code, "timeoutMs": _ms(timeout), "stdin": stdin}
    if files:
        body["files"] = _in_base64(files)
    if fetch_files:
        body["fetchFiles"] = list(fetch_files)
    return {key: value for key, value in body.items() if value is not None}


def _ms(seconds: Optional[float]) -> Optional[float]:
    return None if seconds is None else seconds * 1000


def _in_base64(files: Files) -> dict[str, str]:
    texts = {path: _utf8(text) if isinstance(text, str) else text for path, text in files.items()}
    return {path: base64.b64encode(text).decode() for path, text in texts.items()}


def _utf8(text: str) -> bytes:
    """Encodes text as UTF-8, with a replacement character for each unpaired surrogate."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


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

    def readinto(self, buffer: Any) -> int:
        left = self._until - time.monotonic()
        if left <= 0:
            raise socket.timeout("timed out")
        self._sock.settimeout(min(left, threading.TIMEOUT_MAX))
        return self._sock.recv_into(buffer)


def _read(response: http.client.HTTPResponse) -> bytes:
    contents = response.read(_MAX_RESPONSE_BYTES + 1)
    if len(contents) > _MAX_RESPONSE_BYTES:
        raise PaddockError(f"Cannot read response as it must have at most {_MAX_RESPONSE_BYTES} bytes: found more")
    if response.length:
        raise http.client.IncompleteRead(contents, response.length)
    return contents


def _read_output(response: http.client.HTTPResponse, on_output: OnOutput) -> ExecResult:
    """Reads server-sent events: output, and the result as the last event."""
    name, data = "", ""
    while True:
        line = response.readline(_MAX_RESPONSE_BYTES)
        if line == b"":
            raise PaddockError("Cannot exec as the response ended before the result")
        text = line.decode(errors="replace").rstrip("\r\n")
        key, _, value = text.partition(":")
        if key == "event":
            name = value.strip()
        elif key == "data":
            data += value
        elif text == "":
            event = _json(data.encode(), "exec")
            if name == "result":
                return _result(event)
            if name == "error":
                raise PaddockError(_text(event, "message"), kind=_text(event, "type"))
            if name in ("stdout", "stderr"):
                on_output(name, _text(event, "text"))
            name, data = "", ""


def _json(contents: bytes, doing: str) -> dict[str, Any]:
    try:
        value = json.loads(contents) if contents else {}
    except (ValueError, RecursionError) as error:
        raise PaddockError(f"Cannot {doing} as the response is not JSON") from error
    if not isinstance(value, dict):
        raise PaddockError(f"Cannot {doing} as the response is not an object")
    return value


def _text(value: Mapping[str, Any], key: str) -> str:
    text = value.get(key) if isinstance(value, dict) else None
    if not isinstance(text, str):
        raise PaddockError(f"The response is invalid: {key!r} must be a text")
    return text


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
            error=error and GuestError(_text(error, "type"), _text(error, "message"), _text(error, "traceback")),
            exit_code=answer.get("exitCode"),
            cwd=answer.get("cwd"),
            files=contents,
        )
    except (AttributeError, KeyError, TypeError, ValueError) as cause:
        raise PaddockError("The response is invalid: it is not a result") from cause


def _outcome(answer: Any) -> BatchOutcome:
    result = answer.get("result") if isinstance(answer, dict) else None
    if result is not None:
        return BatchOutcome(_result(result), None)
    error = (answer.get("error") if isinstance(answer, dict) else None) or {}
    status = answer.get("status") if isinstance(answer, dict) else None
    return BatchOutcome(None, PaddockError(_text(error, "message"), status, _text(error, "type")))


def _error_of(response: http.client.HTTPResponse) -> PaddockError:
    """Returns the error of a response that failed."""
    status, text = response.status, response.read(1 << 20).decode(errors="replace")
    try:
        error = json.loads(text)["error"]
        kind, message = _text(error, "type"), _text(error, "message")
    except (KeyError, TypeError, ValueError, RecursionError, PaddockError):
        kind, message = "", " ".join(text.split())[:300]
    seconds = response.getheader("retry-after", "")
    retry_after = float(seconds) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", seconds, re.ASCII) else None
    return PaddockError(f"The server answered {status}: {message}", status, kind, retry_after)
