"""Environment of Harbor: ``harbor run --env paddock.harbor:PaddockEnvironment``.

A trial has a session of a server whose profile has a shell: ``paddock serve --profile workspace``. The command ``paddock
harbor image`` reads the Dockerfile of a task, and the session is brought to the state that the Dockerfile describes.
``PADDOCK_URL`` and ``PADDOCK_TOKEN`` name the server, or the options ``url`` and ``token`` of the environment.

In addition to Harbor's interface, an environment has ``snapshot``, ``restore`` and ``fork``. A session has no network, and
programs in the background end with their command.
"""

from __future__ import annotations

import asyncio
import copy
import io
import json
import os
import shlex
import sys
import tarfile
import uuid
from pathlib import Path
from typing import Any, Optional, Sequence, Union

from harbor.environments.base import (  # type: ignore[import-untyped]
    BaseEnvironment,
    ExecResult,
    SandboxBuildFailedError,
    transfer_tar_filter,
)
from harbor.environments.capabilities import EnvironmentCapabilities  # type: ignore[import-untyped]

from .aio import AsyncClient, AsyncSession
from .client import Checkpoint
from .client import ExecResult as ProgramResult

__all__ = ["PaddockEnvironment"]

_TTL_SECONDS = 86_400.0
"""A session outlives the pauses of an agent. It ends earlier if another one needs its place."""
_MAX_SECONDS = 3_600.0
"""Timeout of a command without one."""
_TRANSFER_SECONDS = 600.0
_PART_BYTES = 8 * 1024 * 1024
"""Bytes of one request."""
_ROOT_USERS = (None, "root", "0", 0)


class PaddockEnvironment(BaseEnvironment):  # type: ignore[misc]
    """A session of a Paddock server, as an environment of Harbor."""

    def __init__(
        self,
        *args: Any,
        url: Optional[str] = None,
        token: Optional[str] = None,
        paddock: Optional[Sequence[str]] = None,
        **kwargs: Any,
    ) -> None:
        """``paddock`` is the command line of Paddock. Default: that of this package."""
        self._url = url or os.environ.get("PADDOCK_URL", "http://127.0.0.1:8471")
        self._token = token or os.environ.get("PADDOCK_TOKEN")
        self._command = list(paddock or (sys.executable, "-m", "paddock"))
        self._client: Optional[AsyncClient] = None
        self._session: Optional[AsyncSession] = None
        self._workdir = "/"
        super().__init__(*args, **kwargs)

    @staticmethod
    def type() -> str:
        return "paddock"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(disable_internet=True)

    def _validate_definition(self) -> None:
        has_image = bool(self.task_env_config.docker_image)
        if has_image or (self.environment_dir / "Dockerfile").is_file():
            return
        raise FileNotFoundError(f"Cannot use environment as {self.environment_dir} must have a Dockerfile: there is none")

    async def start(self, force_build: bool) -> None:
        """Opens a session and runs what the Dockerfile says.

        Raises ``SandboxBuildFailedError`` if the sandbox cannot do a part of it, and ``PaddockError``.
        """
        image = await self._read_image()
        await self.stop(delete=True)
        self._client = AsyncClient(self._url, self._token)
        try:
            self._session = await self._client.session(ttl=_TTL_SECONDS, metadata={"for": "harbor"})
            await self._prepare(image)
        except BaseException:
            await self.stop(delete=True)
            raise
        if self._network_policy.network_mode.value == "public":
            self.logger.warning("The session has no network, though the task's network mode is public")

    async def stop(self, delete: bool) -> None:
        """Ends the session. It can be called again."""
        session, client = self._session, self._client
        self._session = self._client = None
        if session is not None:
            await session.close()
        if client is not None:
            await client.aclose()

    async def exec(
        self,
        command: str,
        cwd: Optional[str] = None,
        env: Optional[dict[str, str]] = None,
        timeout_sec: Optional[int] = None,
        user: Union[str, int, None] = None,
    ) -> ExecResult:
        """Runs a command in a bash of its own, as root.

        Raises ``RuntimeError`` after ``timeout_sec``, or if the interpreter was lost, and ``ValueError`` for another user.
        """
        name = self._resolve_user(user)
        if name not in _ROOT_USERS:
            raise ValueError(f"Cannot run command as {name!r} as a session has the user root only")
        variables = "".join(f"{key}={shlex.quote(value)} " for key, value in (self._merge_env(env) or {}).items())
        folder = cwd or self.task_env_config.workdir or self._workdir
        result = await self._shell(f"cd {shlex.quote(folder)} && {variables}bash -c {shlex.quote(command)}", timeout_sec or _MAX_SECONDS)
        if result.status == "timeout":
            raise RuntimeError(f"Command timed out after {timeout_sec} seconds")
        if not result.state_kept or result.exit_code is None:
            raise RuntimeError(f"The command has ended the interpreter ({result.status}): its files are lost")
        return ExecResult(stdout=result.stdout, stderr=result.stderr, return_code=result.exit_code)

    async def upload_file(self, source_path: Union[Path, str], target_path: str) -> None:
        source = Path(source_path)
        await self._write(target_path, source.read_bytes())
        if source.stat().st_mode & 0o100:
            await self._run(f"chmod +x {shlex.quote(target_path)}")

    async def upload_dir(self, source_dir: Union[Path, str], target_dir: str) -> None:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for entry in sorted(Path(source_dir).iterdir()):
                archive.add(entry, entry.name)
        path = f"/tmp/.paddock-{uuid.uuid4()}.tar"
        await self._write(path, packed.getvalue())
        target = shlex.quote(target_dir)
        await self._run(f"mkdir -p {target} && tar -xf {path} -C {target}; code=$?; rm -f {path}; exit $code")

    async def download_file(self, source_path: str, target_path: Union[Path, str]) -> None:
        target = Path(target_path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(await self._opened().read_file(self._absolute(source_path)))

    async def download_dir(self, source_dir: str, target_dir: Union[Path, str]) -> None:
        path = f"/tmp/.paddock-{uuid.uuid4()}.tar"
        await self._run(f"tar -cf {path} -C {shlex.quote(self._absolute(source_dir))} .")
        try:
            contents = await self._opened().read_file(path)
        finally:
            await self._run(f"rm -f {path}")
        Path(target_dir).mkdir(parents=True, exist_ok=True)
        with tarfile.open(fileobj=io.BytesIO(contents)) as archive:
            archive.extractall(target_dir, filter=transfer_tar_filter)

    async def snapshot(self) -> Checkpoint:
        """Keeps the state of the session on the server: files, variables and the memory of Python."""
        return await self._opened().checkpoint()

    async def restore(self, snapshot: Union[Checkpoint, str]) -> None:
        """Returns to a snapshot, or its id. No command runs again."""
        await self._opened().restore(snapshot)

    async def fork(self, count: int = 1) -> list[PaddockEnvironment]:
        """Returns copies of the environment, which go on by themselves. The caller stops them."""
        sessions = await self._opened().fork(count)
        forks = []
        for session in sessions:
            other = copy.copy(self)
            other._client = AsyncClient(self._url, self._token)
            other._session = AsyncSession(other._client, session.id, {})
            forks.append(other)
        return forks

    async def _read_image(self) -> dict[str, Any]:
        """Returns what the Dockerfile of the task means for a session."""
        image = self.task_env_config.docker_image
        words = [*self._command, "harbor", "image", str(self.environment_dir), *(["--image", image] if image else [])]
        process = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        output, errors = await process.communicate()
        if process.returncode != 0:
            raise SandboxBuildFailedError(f"Cannot read the image: {errors.decode(errors='replace').strip()}")
        plan: dict[str, Any] = json.loads(output)
        if plan["faults"]:
            raise SandboxBuildFailedError(f"Cannot use the image as {'; '.join(plan['faults'])}")
        return plan

    async def _prepare(self, image: dict[str, Any]) -> None:
        for step in image["steps"]:
            if step["kind"] == "files":
                for file in step["files"]:
                    await self._write(file["path"], Path(file["hostPath"]).read_bytes())
                    if file["isExecutable"]:
                        await self._run(f"chmod +x {shlex.quote(file['path'])}")
            else:
                result = await self._shell(step["command"], self.task_env_config.build_timeout_sec)
                self._require(result, step["command"])
        self._workdir = image["workdir"]

    def _require(self, result: ProgramResult, command: str) -> None:
        if result.ok:
            return
        why = (result.stderr or result.stdout).strip()[-500:] or result.status
        raise SandboxBuildFailedError(f"Cannot prepare the image as its command must succeed: {command[-200:]}: {why}")

    async def _write(self, path: str, contents: bytes) -> None:
        """Writes a file, in parts if it is large."""
        session, full = self._opened(), self._absolute(path)
        await session.write_file(full, contents[:_PART_BYTES])
        for start in range(_PART_BYTES, len(contents), _PART_BYTES):
            part = f"/tmp/.paddock-{uuid.uuid4()}"
            await session.write_file(part, contents[start : start + _PART_BYTES])
            await self._run(f"cat {part} >> {shlex.quote(full)}; code=$?; rm -f {part}; exit $code")

    async def _run(self, command: str) -> None:
        result = await self._shell(f"bash -c {shlex.quote(command)}", _TRANSFER_SECONDS)
        if not result.ok:
            raise RuntimeError(f"Cannot transfer files: {(result.stderr or result.status).strip()}")

    async def _shell(self, command: str, seconds: float) -> ProgramResult:
        return await self._opened().shell(command, timeout=min(seconds, _MAX_SECONDS))

    def _absolute(self, path: str) -> str:
        return str(Path(self._workdir, path))

    def _opened(self) -> AsyncSession:
        if self._session is None:
            raise RuntimeError("Cannot use environment as it must be started: it is not")
        return self._session
