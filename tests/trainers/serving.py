"""Starts further servers for checks: ``with serve("--max-sessions", "1") as url``."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def serve(*options: str) -> Iterator[str]:
    """Starts ``paddock serve`` on a free port, yields its URL and stops it."""
    cli = os.path.join(os.environ["PADDOCK_ROOT"], "src", "cli.ts")
    command = ["deno", "run", "-A", "--quiet", cli, "serve", "--port", "0", *options]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        yield _wait_for_url(server)
    finally:
        server.terminate()
        server.wait(30)


def _wait_for_url(server: subprocess.Popen[str]) -> str:
    assert server.stderr is not None
    for line in server.stderr:
        if found := re.match(r"Serving at (\S+) ", line):
            threading.Thread(target=server.stderr.read, daemon=True).start()  # a full pipe would stop the server
            return found[1]
    raise RuntimeError("the server ended before it served")
