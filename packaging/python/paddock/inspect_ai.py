"""Sandboxes of Inspect: ``Task(…, sandbox="paddock")``.

Each sample has its own session of a server whose profile has a shell: ``paddock serve --profile workspace``. The
session ends with the sample. Inspect finds this module by the entry point of the package. ``PADDOCK_URL`` and
``PADDOCK_TOKEN`` name the server, or ``SandboxEnvironmentSpec("paddock", PaddockConfig(url=…))``.
"""

from __future__ import annotations

import asyncio
import base64
import errno
import json
import os
import posixpath
import uuid
from importlib.resources import files as package_files
from typing import Any, Literal, Mapping, NoReturn, Optional, Union, overload

import anyio
from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentConfigType,
    SandboxEnvironmentLimits,
    SandboxUnavailableError,
    SandboxUserUnsupportedError,
    sandboxenv,
)
from pydantic import BaseModel

from .aio import AsyncClient, AsyncSession
from .client import ExecResult as ProgramResult
from .client import PaddockError

__all__ = ["PaddockConfig", "PaddockSandbox"]

_HOME = "/home/pyodide"
_USERS = ("pyodide", "0")
"""Name and number of the only user."""
_PASSWD = f"{_USERS[0]}:x:{_USERS[1]}:{_USERS[1]}::{_HOME}:/bin/bash\n"
"""Where Inspect's tools look for the home directory."""
_TTL_SECONDS = 86_400.0
"""Sessions outlive pauses of ten minutes between two commands. After them, one ends if another needs its place."""
_MAX_SECONDS = 3_600.0
"""Timeout of a command without one, as long as a program of a server can run."""
_PART_BYTES = 8 * 1024 * 1024
"""Bytes of one request. The files of a session must have room for a file and one part of it."""
_INLINE_BYTES = 256 * 1024
"""Longer output is sent in files, as the profile limits the output of a program."""
_CLOSE_SECONDS = 15.0
_COMMAND = (package_files("paddock") / "_guest_command.py").read_text(encoding="utf-8")
_APPEND = """
import json, os
path, part = json.loads(REQUEST)
with open(part, "rb") as source:
    contents = source.read()
os.unlink(part)
with open(path, "ab") as target:
    target.write(contents)
"""

_FILE_ERRORS: Mapping[str, tuple[type[OSError], int]] = {
    "file_not_found": (FileNotFoundError, errno.ENOENT),
    "file_is_directory": (IsADirectoryError, errno.EISDIR),
    "file_forbidden": (PermissionError, errno.EACCES),
}


class PaddockConfig(BaseModel, frozen=True):
    """Server of a sandbox."""

    url: Optional[str] = None
    """Default: ``PADDOCK_URL``, or ``http://127.0.0.1:8471``."""
    token: Optional[str] = None
    """Default: ``PADDOCK_TOKEN``. Inspect writes configurations to its logs, so prefer the variable."""
    memory_bytes: Optional[int] = None
    """Memory of a sandbox, within that of the server's profile."""


@sandboxenv(name="paddock")
class PaddockSandbox(SandboxEnvironment):
    """A session of a server: Python, a shell and files. It runs one command at a time; further ones wait."""

    def __init__(self, client: AsyncClient, session: AsyncSession) -> None:
        super().__init__()
        self._client = client
        self._session = session

    @classmethod
    async def open(cls, config: PaddockConfig) -> PaddockSandbox:
        """Opens a session, and waits until the server has one. The caller closes it.

        Raises ``RuntimeError`` on another event loop than asyncio's, and ``PaddockError``.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError as error:
            raise RuntimeError("Cannot open sandbox as Inspect's async backend must be 'asyncio', its default") from error
        url = config.url or os.environ.get("PADDOCK_URL", "http://127.0.0.1:8471")
        client = AsyncClient(url, config.token or os.environ.get("PADDOCK_TOKEN"))
        sandbox = None
        try:
            session = await client.session(ttl=_TTL_SECONDS, memory_bytes=config.memory_bytes, metadata={"for": "inspect"})
            sandbox = cls(client, session)
            await session.write_file("/etc/passwd", _PASSWD)
            return sandbox
        except BaseException:
            with anyio.CancelScope(shield=True):
                await (client.aclose() if sandbox is None else sandbox.close())
            raise

    async def close(self) -> None:
        """Ends the session. It can be called again and does not fail."""
        with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
            await self._session.close()
            await self._client.aclose()

    @classmethod
    async def sample_init(
        cls, task_name: str, config: SandboxEnvironmentConfigType | None, metadata: dict[str, str]
    ) -> dict[str, SandboxEnvironment]:
        return {"default": await cls.open(_read_config(config))}

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        for environment in environments.values():
            await environment.as_type(PaddockSandbox).close()

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> BaseModel:
        return PaddockConfig(**config)

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        """Runs a command. Its ``PermissionError`` and ``TimeoutError`` are those of ``SandboxEnvironment.exec``.

        Output beyond the limit ends the command and raises ``OutputLimitExceededError`` with its beginning. If a
        command has ended the interpreter, its files are lost and ``SandboxUnavailableError`` is raised.
        """
        if user is not None and user not in _USERS:
            raise SandboxUserUnsupportedError(f"Cannot run command as {user!r} as the sandbox has the user {_USERS[0]!r} only")
        name = f".paddock-{uuid.uuid4()}"
        limit = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
        request = {"command": cmd, "cwd": _absolute(cwd or "."), "env": env or {}, "stdin": None, "limit": limit}
        first: dict[str, bytes] = {}
        if input is not None:
            request["stdin"] = f"{_HOME}/{name}.in"
            first = await self._send(f"{name}.in", _bytes(input))
        files = [f"{name}.out", f"{name}.err"]
        body = {"request": request, "files": [f"{_HOME}/{file}" for file in files], "inline": _INLINE_BYTES}
        seconds = _MAX_SECONDS if timeout is None else timeout
        result = await self._run(_COMMAND, json.dumps(body), files=first, fetch_files=files, timeout=seconds)
        if result.status == "timeout":
            raise TimeoutError(f"The command did not end within {seconds:g} s")
        return await self._outcome(result, cmd)

    async def _outcome(self, result: ProgramResult, cmd: list[str]) -> ExecResult[str]:
        try:
            answer = json.loads(result.stdout.rstrip("\n").rpartition("\n")[2])
            if answer.get("forbidden"):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), cmd[0])
            if answer["outputs"] is None:
                outputs = list(result.files.values())
                for file in result.files:
                    await self._session.remove(file)
            else:
                outputs = [base64.b64decode(output) for output in answer["outputs"]]
            stdout, stderr = (output.decode("utf-8", errors="replace") for output in outputs)
            code = int(answer["code"])
        except (AttributeError, KeyError, TypeError, ValueError, PaddockError) as error:
            reason = result.error.traceback if result.error else "" if result.ok else f"it ended with {result.status!r}"
            raise SandboxUnavailableError(f"Cannot read the outcome of the command: {reason or error!r}") from error
        if answer["exceeded"]:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR, stdout or stderr)
        return ExecResult(code == 0, code, stdout, stderr)

    async def write_file(self, file: str, contents: str | bytes) -> None:
        """Writes a file. In addition to the errors of ``SandboxEnvironment``, ``OSError`` says that there is no space."""
        path, data = _absolute(file), _bytes(contents)
        try:
            await self._session.write_file(path, data[:_PART_BYTES])
            for start in range(_PART_BYTES, len(data), _PART_BYTES):
                await self._append(path, data[start : start + _PART_BYTES])
        except PaddockError as error:
            _raise_file_error(error, file)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> Union[str, bytes]:
        try:
            contents = await self._session.read_file(_absolute(file))
        except PaddockError as error:
            _raise_file_error(error, file)
        if len(contents) > SandboxEnvironmentLimits.MAX_READ_FILE_SIZE:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
        return contents.decode("utf-8") if text else contents

    def default_polling_interval(self) -> float:
        return 0.2

    async def _send(self, name: str, data: bytes) -> dict[str, bytes]:
        """Returns a file to send with a program. A larger one is written first."""
        if len(data) <= _PART_BYTES:
            return {name: data}
        await self.write_file(name, data)
        return {}

    async def _append(self, path: str, part: bytes) -> None:
        name = f".paddock-{uuid.uuid4()}"
        result = await self._run(_APPEND, json.dumps([path, f"{_HOME}/{name}"]), files={name: part})
        if not result.ok:
            message = result.error.message if result.error else result.status
            raise OSError(errno.EIO, f"Cannot append to file: {message}", path)

    async def _run(self, code: str, request: str, **options: Any) -> ProgramResult:
        """Runs a program of this module, whose names are not those of the session's other programs."""
        names = {"__name__": "paddock_command", "REQUEST": request}
        try:
            result = await self._session.exec(f"exec({code!r}, {names!r})", **options)
        except PaddockError as error:
            if error.reason:
                raise  # a file of the program
            raise SandboxUnavailableError(f"Cannot run command: {error}") from error
        if not result.state_kept and result.status != "timeout":
            raise SandboxUnavailableError(f"The command has ended the interpreter ({result.status}): its files are lost")
        return result


def _read_config(config: SandboxEnvironmentConfigType | None) -> PaddockConfig:
    if config is None or isinstance(config, PaddockConfig):
        return config or PaddockConfig()
    raise TypeError(f"Cannot open sandbox as its configuration must be a PaddockConfig: current value is {config!r}")


def _absolute(path: str) -> str:
    """Returns the path in the sandbox. A relative one starts at its working directory."""
    return posixpath.join(_HOME, path)


def _bytes(contents: str | bytes) -> bytes:
    return contents.encode() if isinstance(contents, str) else contents


def _raise_file_error(error: PaddockError, file: str) -> NoReturn:
    if error.reason in _FILE_ERRORS:
        kind, number = _FILE_ERRORS[error.reason]
        raise kind(number, os.strerror(number), file) from error
    if error.reason:
        raise OSError(errno.EIO, str(error), file) from error
    raise SandboxUnavailableError(f"Cannot access {file!r}: {error}") from error
