"""The command ``paddock``: runs Paddock's sources with the Deno of the package ``deno``.

The wheel has the sources. The first start of a version downloads what they import; later starts only run Deno.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Optional

__all__ = ["command", "environment", "main"]

_SOURCES = Path(__file__).parent / "_sources"


def main() -> None:
    """Runs the command with the arguments of this process, and ends as it ends."""
    try:
        line = command(sys.argv[1:])
    except (OSError, RuntimeError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    if os.name == "posix":
        os.execve(line[0], line, environment())
    child = subprocess.Popen(line, env=environment())
    while True:
        try:
            sys.exit(child.wait())
        except KeyboardInterrupt:
            pass  # the console sends Ctrl-C to the child too, which ends by itself


def command(arguments: list[str]) -> list[str]:
    """Returns the command line that runs Paddock with these arguments.

    The first call for a version downloads the packages that the sources import, and says so on stderr.

    Raises ``RuntimeError`` if they cannot be downloaded or the sources are missing, and ``FileNotFoundError`` if the
    package ``deno`` has no binary for this platform.
    """
    if not _SOURCES.is_dir():
        raise RuntimeError(f"Cannot run Paddock as its sources must be in {_SOURCES}: install the wheel, not a folder of a clone")
    deno = _find_deno()
    ready = _cache_folder() / f"{_fingerprint(deno)}.ready"
    if not ready.exists():
        _download(deno)
        ready.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        ready.touch()
    config = str(_SOURCES / "src" / "deno.json")
    main_module = str(_SOURCES / "src" / "cli" / "main.ts")
    return [deno, "run", "-A", "--quiet", "--frozen", "--config", config, main_module, *arguments]


def environment() -> dict[str, str]:
    """Returns the variables of Deno. Paths are relative to the current directory, whatever started this process."""
    variables = {"DENO_NO_UPDATE_CHECK": "1", **os.environ}
    variables.pop("INIT_CWD", None)
    return variables


def _find_deno() -> str:
    from deno import find_deno_bin

    try:
        return os.fsdecode(find_deno_bin())
    except FileNotFoundError as error:
        raise FileNotFoundError(f"Cannot find Deno, which pip installs with Paddock: {error}") from error


def _cache_folder() -> Path:
    return Path.home() / ".cache" / "paddock" / "python"


def _fingerprint(deno: str) -> str:
    """Names what was downloaded: the sources and the caches that Deno downloads to."""
    digest = (_SOURCES / "digest").read_text()
    parts = [digest, str(_SOURCES), deno, os.environ.get("DENO_DIR", "")]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _download(deno: str) -> None:
    print("Preparing Paddock (once): downloading the packages that it imports …", file=sys.stderr, flush=True)
    line = [deno, "install", "--quiet", "--frozen", "--config", "src/deno.json", "--entrypoint", "src/cli/commands.ts"]
    done = subprocess.run(line, cwd=_SOURCES, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise RuntimeError(f"Cannot download the packages that Paddock imports:\n{_text(done.stderr)}")


def _text(output: Optional[bytes]) -> str:
    return (output or b"").decode(errors="replace").strip()
