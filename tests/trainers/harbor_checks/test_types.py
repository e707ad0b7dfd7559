"""The types of the environment, with those of Harbor."""

import os
import subprocess
import sys
from pathlib import Path


def test_mypy_accepts_the_environment_in_strict_mode() -> None:
    folder = Path(os.environ["PADDOCK_ROOT"]) / "packaging" / "python"
    options = ["--strict", "--follow-imports", "silent", "--cache-dir", os.devnull]
    command = [sys.executable, "-m", "mypy", *options, "paddock/harbor.py"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
