"""Environment of TRL's ``GRPOTrainer``: each generation has its own Python interpreter.

    from paddock.trl import PaddockEnv

    trainer = GRPOTrainer(environment_factory=PaddockEnv, …)

``functools.partial(PaddockEnv, url=…, token=…)`` is a factory with options. A subclass adds further tools as public
methods, and ``get_reward``, which may call ``self._exec``. The server needs one session for each generation of a step,
of all processes together: ``paddock serve --max-sessions N``.
"""

from __future__ import annotations

import os
import weakref
from typing import Any, Optional

from ._tool_text import tool_text
from .client import Client, ExecResult, PaddockError, Session

__all__ = ["PaddockEnv"]

_TTL_SECONDS = 86_400.0
"""Sessions outlive long steps. After ten minutes without use, one ends if another of the same token needs its place."""


class PaddockEnv:
    """Environment with the tool ``run_python``. TRL creates one for each generation of a step, and resets it."""

    _instances: weakref.WeakSet[PaddockEnv] = weakref.WeakSet()

    def __init__(
        self,
        url: Optional[str] = None,
        token: Optional[str] = None,
        *,
        wait: float = 600.0,
        timeout: Optional[float] = None,
        max_characters: int = 20_000,
    ) -> None:
        """Creates an environment. It opens its session at ``reset``.

        ``url`` and ``token`` default to the environment variables ``PADDOCK_URL`` and ``PADDOCK_TOKEN``. ``wait`` is
        the time in seconds for which ``reset`` waits for a free session. ``timeout`` limits each program, in seconds;
        the default is the profile's. Results have about ``max_characters``; the middle of longer ones is left out.
        """
        url = url or os.environ.get("PADDOCK_URL", "http://127.0.0.1:8471")
        self._client = Client(url, token or os.environ.get("PADDOCK_TOKEN"))
        self._wait = wait
        self._timeout = timeout
        self._max_characters = max_characters
        self._sessions: list[Session] = []
        self._instances.add(self)
        weakref.finalize(self, _close, self._sessions)

    def reset(self, **kwargs: Any) -> None:
        """Starts an episode with an empty interpreter. ``kwargs`` is the row of the data set, which is ignored here.

        Waits for a free session, and raises ``PaddockError`` if none is free in time.
        """
        _close(self._sessions)  # the server cleans the interpreter, in the way that fits its tokens
        try:
            self._sessions.append(self._client.session(wait=self._wait, ttl=_TTL_SECONDS))
        except PaddockError as error:
            if error.status != 429 and error.kind not in ("busy", "timeout"):
                raise
            count = len(self._instances)
            message = (
                f"Cannot reset environment as no session was free within {self._wait:g} s: this process has {count} "
                f"environments, so start the server with --max-sessions {count} or more, times the number of processes"
            )
            raise PaddockError(message, error.status, error.kind) from error

    def run_python(self, code: str) -> str:
        """
        Runs a Python program. Returns what it prints and the value of its last expression, or its traceback.
        Variables and files are kept for the next call.

        Args:
            code: The program.

        Returns:
            The output of the program.
        """
        return tool_text(self._exec(code), self._max_characters)

    def _exec(self, code: str, **options: Any) -> ExecResult:
        """Runs a program in the session of the episode. The options are those of ``Session.exec``."""
        if not self._sessions:
            raise PaddockError("Cannot run a program as 'reset' must be called first")
        return self._sessions[0].exec(code, **{"timeout": self._timeout, **options})


def _close(sessions: list[Session]) -> None:
    while sessions:
        sessions.pop().close()
