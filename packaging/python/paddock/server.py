"""A server that runs as long as a script or notebook needs it.

    with paddock.serve() as server:
        print(server.client().exec("6 * 7").value)  # 42
"""

from __future__ import annotations

import collections
import re
import secrets
import subprocess
import threading
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generator, Iterable, Mapping, Optional, Sequence

from .client import Client, PaddockError
from .launcher import command, environment

if TYPE_CHECKING:
    from .aio import AsyncClient

__all__ = ["Server", "rollout", "serve"]

_LOG_LINES = 200
_STOP_SECONDS = 10.0


def serve(
    *options: str,
    profile: str = "serve",
    max_sessions: Optional[int] = None,
    port: int = 0,
    start_timeout: float = 300.0,
    env: Optional[Mapping[str, str]] = None,
) -> Server:
    """Starts a server on loopback and returns when it answers.

    ``options`` are further options of ``paddock serve``, such as ``"--memory-mb", "512"``. Port 0 is a free one. The
    server has a random token. The first start of a version downloads packages and builds Python's image, which takes
    up to half a minute; ``start_timeout`` is in seconds. ``env`` has further variables of its process.

    The server ends with ``close()``, at the end of ``with``, and with this process, however it ends. Raises
    ``PaddockError`` with the server's own message if it does not start.
    """
    line = ["serve", "--profile", profile, "--port", str(port), "--until-stdin-ends", *options]
    if max_sessions is not None:
        line += ["--max-sessions", str(max_sessions)]
    token = secrets.token_hex(32)
    process = subprocess.Popen(
        command(line),
        env={**environment(), **(env or {}), "PADDOCK_TOKEN": token},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C in a notebook stops a cell, and not the server
    )
    server = Server(process, token)
    try:
        server._wait(start_timeout)
    except BaseException:
        server.close()
        raise
    return server


def rollout(
    policy: str,
    tasks: Iterable[Mapping[str, Any]],
    *,
    env: str = "python",
    tokenizer: Optional[str] = None,
    profile: str = "serve",
    concurrency: int = 8,
    server_options: Sequence[str] = (),
    **options: Any,
) -> Generator[dict[str, Any], None, None]:
    """Plays episodes in sandboxes of this machine, and yields them in the order of their ends.

        def grade(completion, answer):
            return float(completion.endswith(answer))

        for item in paddock.rollout("openai:http://localhost:8000", tasks, model="qwen", grader=grade):
            if item["kind"] == "episode":
                print(item["trajectory"]["reward"])

    A server of its own plays, as ``serve()`` starts it; it ends with the loop. ``policy`` is ``openai:URL`` or
    ``sglang:URL``, ``env`` is ``python``, ``tools`` or ``chat``, and ``tokenizer`` a folder, which ``tokens=True`` needs.
    ``server_options`` are further ones of ``paddock serve``. The other options, such as ``grader=function`` and
    ``tools=[function]``, are those of ``Client.rollout``.
    """
    line = ["--rollout-policy", policy, f"--rollout-env={env}"]
    if tokenizer is not None:
        line += ["--rollout-tokenizer", tokenizer]
    with serve(*line, *server_options, profile=profile, max_sessions=concurrency) as server:
        yield from server.client().rollout(policy, tasks, env=env, concurrency=concurrency, **options)


class Server:
    """A running server. ``url`` and ``token`` open it to other clients."""

    url: str
    """URL on loopback."""
    token: str

    def __init__(self, process: subprocess.Popen[bytes], token: str) -> None:
        self.url, self.token = "", token
        self._process = process
        self._lines: collections.deque[str] = collections.deque(maxlen=_LOG_LINES)
        self._announced = threading.Event()
        self._reader = threading.Thread(target=self._read, name="paddock-server", daemon=True)
        self._reader.start()
        self._end = weakref.finalize(self, _stop, process)

    @property
    def log(self) -> str:
        """The last lines that the server wrote to stderr."""
        return "".join(self._lines)

    def client(self, **options: Any) -> Client:
        """Returns a client of this server. The options are those of ``Client``."""
        return Client(self.url, self.token, **options)

    def async_client(self, **options: Any) -> AsyncClient:
        """Returns an asynchronous client of this server. The options are those of ``AsyncClient``."""
        from .aio import AsyncClient

        return AsyncClient(self.url, self.token, **options)

    def close(self) -> None:
        """Stops the server and its sessions, and waits for its end. It can be called again."""
        self._end()
        self._reader.join(_STOP_SECONDS)

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self,
        _type: Optional[type[BaseException]],
        _error: Optional[BaseException],
        _traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def _wait(self, seconds: float) -> None:
        if not self._announced.wait(seconds):
            raise PaddockError(f"Cannot start server as it must answer within {seconds} s:\n{self.log}")
        if not self.url:
            raise PaddockError(f"Cannot start server as it ended with exit code {self._process.wait()}:\n{self.log}")

    def _read(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            for contents in lines:
                line = contents.decode(errors="replace")
                self._lines.append(line)
                if not self.url and (found := re.match(r"Serving at (http://\S+)", line)):
                    self.url = found[1]
                    self._announced.set()
        self._announced.set()


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a server: the end of its stdin stops it, and a server that does not stop is killed."""
    assert process.stdin is not None
    try:
        process.stdin.close()
    except BrokenPipeError:
        pass  # it has ended
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
