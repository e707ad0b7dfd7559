"""
Records what CPython on Linux prints for the programs of the text files beside this one, in `recorded.json`:

    python3.14 tests/sandbox/guest/native/record.py

A program follows the line `### ` with its name. Each runs as `main.py` in an empty folder.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).parent
ENVIRONMENT = {"HOME": "/home/pyodide", "LANG": "C.UTF-8", "LOGNAME": "pyodide", "PATH": "/usr/bin:/bin", "USER": "pyodide"}


def record(code):
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "main.py").write_text(code, "utf-8", newline="\n")
        environment = {**ENVIRONMENT, "PWD": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        ended = subprocess.run(
            [sys.executable, os.path.join(folder, "main.py")], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True
        )
        code = ended.returncode if ended.returncode >= 0 else 128 - ended.returncode  # as a shell reports a signal
        return [*(normal(data.decode(), folder) for data in (ended.stdout, ended.stderr)), code]


def normal(text, folder):
    """Replaces what depends on the machine: the program's folder, addresses, and the library's folder and lines."""
    text = re.sub(r"0x[0-9a-f]+", "0x", text.replace(folder, "HOME"))
    return re.sub(r'File "(?!HOME)[^"<]*/([\w.]+)", line \d+', r'File "\1"', text)


def main():
    recorded = {}
    for path in sorted(FOLDER.glob("*.txt")):
        programs = path.read_text("utf-8").split("### ")[1:]
        recorded[path.stem] = {name: record(code) for name, _, code in (each.partition("\n") for each in programs)}
        print(path.stem, len(programs))
    (FOLDER / "recorded.json").write_text(json.dumps(recorded, indent=1) + "\n", "utf-8")


main()
