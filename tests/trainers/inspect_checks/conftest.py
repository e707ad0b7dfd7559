"""Sandboxes of the suite. Inspect finds the provider by the entry point of the metadata in this folder, which is on the path."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from inspect_ai._util.entrypoints import ensure_entry_points
from inspect_ai.util import SandboxEnvironment
from inspect_ai.util._sandbox.registry import registry_find_sandboxenv


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def sandbox_env(anyio_backend: str) -> AsyncIterator[SandboxEnvironment]:
    ensure_entry_points()
    provider = registry_find_sandboxenv("paddock")
    environments = await provider.sample_init("checks", None, {})
    yield environments["default"]
    await provider.sample_cleanup("checks", None, environments, False)
