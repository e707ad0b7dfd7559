"""Runs the coroutines of the suite, and makes environments as Harbor makes them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from harbor.models.task.config import EnvironmentConfig
from harbor.models.trial.paths import TrialPaths

from paddock.harbor import PaddockEnvironment

ROOT = Path(os.environ["PADDOCK_ROOT"])
PADDOCK = ["deno", "run", "-A", "--quiet", "--no-check", str(ROOT / "src" / "cli.ts")]
"""The command line of the clone."""

Make = Callable[..., PaddockEnvironment]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Returns a function that makes the environment of a Dockerfile and of files beside it."""

    def made(dockerfile: str, files: dict[str, str] | None = None, **settings: Any) -> PaddockEnvironment:
        folder = tmp_path / "environment"
        folder.mkdir(exist_ok=True)
        for name, text in {"Dockerfile": dockerfile, **(files or {})}.items():
            (folder / name).write_text(text)
        config = EnvironmentConfig(network_mode="no-network", **settings)
        return PaddockEnvironment(folder, "checks", "checks__env", TrialPaths(tmp_path / "trial"), config, paddock=PADDOCK)

    return made


@pytest.fixture
def run() -> Callable[[Awaitable[Any]], Any]:
    return asyncio.run  # type: ignore[return-value]
