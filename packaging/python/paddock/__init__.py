"""Paddock, a sandbox for Python programs of language models: the command, a server and its clients.

    import paddock

    with paddock.serve() as server, server.client().session() as session:
        print(session.exec("6 * 7").value)  # 42
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .client import (
    BatchOutcome,
    Checkpoint,
    Client,
    ExecResult,
    GuestError,
    PaddockError,
    RestoredFrom,
    Score,
    Session,
    WaitingCall,
)

if TYPE_CHECKING:
    from .aio import AsyncClient, AsyncSession
    from .envs import Env, make_env
    from .server import Server, rollout, serve

__all__ = [
    "AsyncClient",
    "AsyncSession",
    "BatchOutcome",
    "Checkpoint",
    "Client",
    "Env",
    "ExecResult",
    "GuestError",
    "PaddockError",
    "RestoredFrom",
    "Score",
    "Server",
    "Session",
    "WaitingCall",
    "make_env",
    "rollout",
    "serve",
]

_LAZY = {
    "AsyncClient": "aio",
    "AsyncSession": "aio",
    "Env": "envs",
    "Server": "server",
    "make_env": "envs",
    "rollout": "server",
    "serve": "server",
}
"""Modules of the names that are imported at their first use: asyncio takes a tenth of a second."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    return value
