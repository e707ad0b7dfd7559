"""Harbor's environment class over a session, and whole trials of Harbor with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import PADDOCK, ROOT, Make
from harbor.environments.base import SandboxBuildFailedError
from harbor.environments.factory import EnvironmentFactory

from paddock import Client
from paddock.harbor import PaddockEnvironment

PLAIN = "FROM python:3.12-slim\nENV TIDE=low\nWORKDIR /app\nCOPY a.txt .\nRUN echo $TIDE >> a.txt\n"


def test_factory_finds_the_class() -> None:
    found = EnvironmentFactory.get_environment_class(import_path="paddock.harbor:PaddockEnvironment")
    assert found is PaddockEnvironment


def test_start_brings_the_session_to_the_state_of_the_dockerfile(make: Make, run: Any) -> None:
    async def check() -> None:
        environment = make(PLAIN, {"a.txt": "tide\n"})
        await environment.start(force_build=False)
        try:
            result = await environment.exec("pwd; cat a.txt; echo $TIDE $MORE; echo err >&2; exit 3", env={"MORE": "more"})
            assert (result.stdout, result.stderr, result.return_code) == ("/app\ntide\nlow\nlow more\n", "err\n", 3)
            assert (await environment.exec("pwd", cwd="/logs/verifier")).stdout == "/logs/verifier\n"
            assert (await environment.exec("whoami", user="root")).return_code == 0
            assert await environment.is_dir("/app") and await environment.is_file("/app/a.txt")
            assert not await environment.is_dir("/none")
        finally:
            await environment.stop(delete=True)
        assert Client(os.environ["PADDOCK_URL"]).sessions({"for": "harbor"}) == []

    run(check())


def test_exec_raises_after_its_time_and_for_another_user(make: Make, run: Any) -> None:
    async def check() -> None:
        environment = make(PLAIN, {"a.txt": ""})
        await environment.start(force_build=False)
        try:
            with pytest.raises(RuntimeError, match="timed out after 1 seconds"):
                await environment.exec("sleep 30", timeout_sec=1)
            with pytest.raises(ValueError, match="'app'"):
                await environment.exec("true", user="app")
            assert (await environment.exec("cat a.txt")).stdout == "low\n"
        finally:
            await environment.stop(delete=True)

    run(check())


def test_files_and_folders_are_transferred(make: Make, run: Any, tmp_path: Path) -> None:
    async def check() -> None:
        environment = make(PLAIN, {"a.txt": ""})
        await environment.start(force_build=False)
        try:
            source = tmp_path / "source"
            (source / "in").mkdir(parents=True)
            (source / "in" / "b c.txt").write_text("b")
            (source / "run.sh").write_text("#!/bin/bash\necho ran")
            (source / "run.sh").chmod(0o755)
            await environment.upload_dir(source, "/work")
            assert (await environment.exec("./run.sh; cat 'in/b c.txt'; test -x run.sh", cwd="/work")).stdout == "ran\nb"
            large = bytes(range(256)) * 40_000
            (tmp_path / "large").write_bytes(large)
            await environment.upload_file(tmp_path / "large", "/work/in/large")
            await environment.download_file("/work/in/large", tmp_path / "back" / "large")
            assert (tmp_path / "back" / "large").read_bytes() == large
            await environment.exec("rm in/large", cwd="/work")
            await environment.download_dir("/work", tmp_path / "all")
            names = sorted(str(path.relative_to(tmp_path / "all")) for path in (tmp_path / "all").rglob("*"))
            assert names == ["in", "in/b c.txt", "run.sh"]
        finally:
            await environment.stop(delete=True)

    run(check())


def test_forks_and_snapshots_have_their_own_files(make: Make, run: Any) -> None:
    async def check() -> None:
        environment = make(PLAIN, {"a.txt": ""})
        await environment.start(force_build=False)
        try:
            snapshot = await environment.snapshot()
            await environment.exec("echo more >> a.txt")
            forks = await environment.fork(2)
            for number, fork in enumerate(forks):
                await fork.exec(f"echo {number} >> a.txt")
            assert [(await fork.exec("cat a.txt")).stdout for fork in forks] == ["low\nmore\n0\n", "low\nmore\n1\n"]
            for fork in forks:
                await fork.stop(delete=True)
            assert (await environment.exec("cat a.txt")).stdout == "low\nmore\n"
            await environment.restore(snapshot)
            assert (await environment.exec("cat a.txt; echo $TIDE")).stdout == "low\nlow\n"
        finally:
            await environment.stop(delete=True)

    run(check())


@pytest.mark.parametrize(
    ("dockerfile", "reason"),
    [("FROM node:22\n", "node:22"), ("FROM debian\nRUN apt-get install -y gcc\n", "gcc"), ("FROM debian\nRUN exit 3\n", "must succeed")],
)
def test_start_refuses_what_the_sandbox_cannot_do(make: Make, run: Any, dockerfile: str, reason: str) -> None:
    with pytest.raises(SandboxBuildFailedError, match=reason):
        run(make(dockerfile).start(force_build=False))
    assert Client(os.environ["PADDOCK_URL"]).sessions({"for": "harbor"}) == []


def trial(agent: str, jobs: Path) -> dict[str, Any]:
    """Plays the example's task with Harbor's own command, and returns the result of the trial."""
    words = [sys.executable, "-m", "harbor.cli.main", "run", "--path", str(ROOT / "examples" / "harbor" / "word_count")]
    options = ["--agent", agent, "--env", "paddock.harbor:PaddockEnvironment", "--jobs-dir", str(jobs), "--quiet", "--yes"]
    paddock = f"paddock={json.dumps(PADDOCK)}"
    variables = {**os.environ, "HARBOR_TELEMETRY": "0"}
    done = subprocess.run([*words, *options, "--ek", paddock], env=variables, capture_output=True, text=True, timeout=600)
    found = [path for path in jobs.glob("*/*/result.json")]
    assert len(found) == 1, done.stdout + done.stderr
    result: dict[str, Any] = json.loads(found[0].read_text())
    assert result["exception_info"] is None, result["exception_info"]
    return result


@pytest.mark.parametrize(("agent", "reward"), [("oracle", 1), ("nop", 0)])
def test_trials_of_harbor_get_their_reward(agent: str, reward: int, tmp_path: Path) -> None:
    assert trial(agent, tmp_path)["verifier_result"]["rewards"] == {"reward": reward}
