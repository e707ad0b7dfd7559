"""Runs the cells of notebook_cells.json in IPython's kernel, and prints the file with what the cells showed.

Needs ipykernel 7.4.0 and ipython 9.18.1.
"""

import json
import pathlib
import re
import sys
import tempfile

from jupyter_client.manager import start_new_kernel

PATH = pathlib.Path(__file__).with_suffix(".json")


def run(client, code, home):
    """Returns what a cell printed, its value, and the class of its exception."""
    shown = {"stdout": "", "value": None, "error": None}

    def take(message):
        kind, content = message["msg_type"], message["content"]
        if kind == "stream" and content["name"] == "stdout":
            shown["stdout"] += content["text"]
        elif kind == "execute_result":
            shown["value"] = content["data"]["text/plain"]

    reply = client.execute_interactive(code, output_hook=take, timeout=60)["content"]
    shown["error"] = reply.get("ename")  # a UsageError is in the reply only
    for name in ("stdout", "value"):
        if shown[name] is not None:
            text = shown[name].replace("\r\n", "\n").replace(home, "<home>")
            shown[name] = re.sub(r"0x[0-9a-f]+", "0x0", text)
    return shown


def main():
    sessions = []
    for session in json.loads(PATH.read_text()):
        with tempfile.TemporaryDirectory() as home:
            home = str(pathlib.Path(home).resolve())
            manager, client = start_new_kernel(cwd=home, env={"HOME": home, "PATH": "/usr/bin:/bin"})
            try:
                cells = [{"code": cell["code"], **run(client, cell["code"], home)} for cell in session["cells"]]
            finally:
                client.stop_channels()
                manager.shutdown_kernel(now=True)
        sessions.append({"name": session["name"], "cells": cells})
    json.dump(sessions, sys.stdout, indent=1, ensure_ascii=False)
    print()


main()
