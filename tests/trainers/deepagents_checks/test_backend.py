"""deepagents with the sandbox of langchain-e2b. The oracle is the same backend, whose commands this machine runs."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import e2b
import pytest
from deepagents import create_deep_agent
from deepagents.backends.protocol import ExecuteResponse, FileDownloadResponse, FileUploadResponse
from deepagents.backends.sandbox import BaseSandbox
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_e2b import AsyncE2BSandbox, E2BSandbox

URL = os.environ["PADDOCK_URL"]
os.environ.update(E2B_API_URL=URL, E2B_SANDBOX_URL=URL, E2B_API_KEY="e2b_" + "0" * 40)

ROOT = "/tmp/deepagents"


class LocalMachine(BaseSandbox):
    """Runs the commands of the backend with the bash of this machine."""

    @property
    def id(self) -> str:
        return "local"

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        try:
            done = subprocess.run(["/bin/bash", "-c", command], capture_output=True, cwd=ROOT, timeout=timeout, text=True)
        except subprocess.TimeoutExpired:
            return ExecuteResponse(output=f"Command timed out after {timeout} seconds", exit_code=124, truncated=False)
        output = "\n".join(text for text in (done.stdout, done.stderr) if text)
        return ExecuteResponse(output=output, exit_code=done.returncode, truncated=False)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        for path, content in files:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_bytes(content)
        return [FileUploadResponse(path=path, error=None) for path, _ in files]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return [self._download(path) for path in paths]

    def _download(self, path: str) -> FileDownloadResponse:
        if Path(path).is_dir():
            return FileDownloadResponse(path=path, content=None, error="is_directory")
        if not Path(path).exists():
            return FileDownloadResponse(path=path, content=None, error="file_not_found")
        return FileDownloadResponse(path=path, content=Path(path).read_bytes(), error=None)


@pytest.fixture
def sandbox() -> Iterator[e2b.Sandbox]:
    with e2b.Sandbox.create() as sandbox:
        sandbox.files.make_dir(ROOT)
        yield sandbox


@pytest.fixture
def backends(sandbox: e2b.Sandbox) -> Iterator[tuple[BaseSandbox, BaseSandbox]]:
    shutil.rmtree(ROOT, ignore_errors=True)
    Path(ROOT).mkdir()
    yield E2BSandbox(sandbox=sandbox, workdir=ROOT), LocalMachine()
    shutil.rmtree(ROOT)


Call = Callable[[BaseSandbox], Any]
PNG = b"\x89PNG\r\n\x1a\n\x00\xff"
LONG = "A" * 200_000 + "END"

FILES: list[tuple[str, Call]] = [
    ("write", lambda b: b.write(f"{ROOT}/a.py", "x = 1\ny = 2\nprint(x + y)  # é\n")),
    ("write in new folders", lambda b: b.write(f"{ROOT}/sub/deep/b.txt", "hello\nwörld\n")),
    ("upload", lambda b: b.upload_files([(f"{ROOT}/empty.txt", b""), (f"{ROOT}/i.png", PNG), (f"{ROOT}/big.txt", LONG.encode())])),
    ("ls", lambda b: b.ls(ROOT)),
    ("ls of nothing", lambda b: b.ls(f"{ROOT}/missing")),
    ("read", lambda b: b.read(f"{ROOT}/a.py")),
    ("read a part", lambda b: b.read(f"{ROOT}/a.py", offset=1, limit=1)),
    ("read behind the end", lambda b: b.read(f"{ROOT}/a.py", offset=9)),
    ("read nothing", lambda b: b.read(f"{ROOT}/missing")),
    ("read an empty file", lambda b: b.read(f"{ROOT}/empty.txt")),
    ("read bytes", lambda b: b.read(f"{ROOT}/i.png")),
    ("edit", lambda b: b.edit(f"{ROOT}/a.py", "x = 1", "x = 40")),
    ("edit what is not there", lambda b: b.edit(f"{ROOT}/a.py", "nope", "x")),
    ("edit what is there twice", lambda b: b.edit(f"{ROOT}/a.py", "x", "q")),
    ("edit all", lambda b: b.edit(f"{ROOT}/a.py", "x", "q", replace_all=True)),
    ("edit a missing file", lambda b: b.edit(f"{ROOT}/missing", "x", "q")),
    ("edit with large texts", lambda b: b.edit(f"{ROOT}/big.txt", "A" * 100_000, "B" * 90_000, replace_all=True)),
    ("grep", lambda b: b.grep("print", ROOT)),
    ("grep by glob", lambda b: b.grep("w", ROOT, glob="*.txt")),
    ("grep by glob of paths", lambda b: b.grep("w", ROOT, glob="sub/**/*.txt")),
    ("grep special characters", lambda b: b.grep("(q + y)", ROOT)),
    ("grep quotes", lambda b: b.grep("it's \"$HOME\"", ROOT)),
    ("grep nothing", lambda b: b.grep("print", f"{ROOT}/missing")),
    ("grep one file", lambda b: b.grep("y", f"{ROOT}/a.py")),
    ("glob", lambda b: b.glob("**/*.txt", ROOT)),
    ("glob one level", lambda b: b.glob("*.py", ROOT)),
    ("glob with braces", lambda b: b.glob("**/*.{py,png}", ROOT)),
    ("download", lambda b: b.download_files([f"{ROOT}/a.py", f"{ROOT}/missing", f"{ROOT}/sub"])),
    ("delete", lambda b: b.delete(f"{ROOT}/sub")),
    ("delete nothing", lambda b: b.delete(f"{ROOT}/sub")),
    ("ls after all", lambda b: b.ls(ROOT)),
]

COMMANDS = [
    "echo hi; echo err >&2; exit 3",
    "printf 'a\\nb\\n' > f.txt; cat f.txt | head -1 && ls",
    "python3 -c 'import sys; print(sys.argv)' 'a b' c",
    "cat <<'EOF' > h.txt\n$line\nEOF\ncat h.txt",
    "for i in $(seq 3); do echo $i; done",
    "echo a > b.txt; echo c > d.txt; find . -name '*.txt' -exec wc -l {} + | sort",
    "echo a,b | awk -F, '{print $2}'",
    "printf 'a\\n' > f.txt; sed -i 's/a/z/' f.txt && cat f.txt",
    "echo a > f.txt; echo b > h.txt; tar cf t.tar f.txt && tar tf t.tar; diff f.txt h.txt",
    "nohup python3 -c 'print(1)' > o.txt 2>&1 & wait; cat o.txt",
    "set -euo pipefail; false | true; echo unreachable",
    "trap 'echo bye' EXIT; echo hi",
    "touch f.txt; [[ -f f.txt ]] && echo yes; test -w . && echo writable",
    "declare -A m=([a]=1); m[b]=2; echo ${m[b]}; mapfile -t l <<< $'x\ny'; echo ${#l[@]}",
    "comm <(echo a) <(echo b); base64 <<< hi; echo a > f; md5sum f; sha256sum < f",
    "kill -0 $$; echo $?; umask; command -v cd; type cd",
    "git init -q r && cd r && git config user.email a@b && git config user.name a && echo x > f && git add f && git commit -qm one && git log --format=%s",
]


def test_files_are_as_on_this_machine(backends: tuple[BaseSandbox, BaseSandbox]) -> None:
    here, local = ([(name, in_order(call(backend))) for name, call in FILES] for backend in backends)
    assert here == local


def in_order(result: Any) -> Any:
    """Sorts what a backend lists in the order of the disk."""
    for name in ("entries", "matches"):
        if getattr(result, name, None):
            getattr(result, name).sort(key=lambda entry: (entry["path"], entry.get("line", 0)))
    return result


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_as_on_this_machine(command: str, backends: tuple[BaseSandbox, BaseSandbox]) -> None:
    here, local = (backend.execute(command, timeout=20) for backend in backends)
    assert here == local


@pytest.mark.parametrize("command", ["seq 3", "seq 100000; exit 4", "head -c 50000 /dev/zero | tr '\\0' x", "echo out; echo err >&2"])
def test_large_output_is_kept_in_a_file(command: str, backends: tuple[BaseSandbox, BaseSandbox]) -> None:
    """The wrapper of commands is a script of 60 lines for ``sh``."""
    path = f"{ROOT}/captured.txt"
    for backend in backends:
        backend.enable_capture_offload = True
    here, local = (backend.execute_with_offload(command, capture_path=path, max_inline_bytes=2000) for backend in backends)
    assert here == local
    assert backends[0].download_files([path]) == backends[1].download_files([path])


def test_a_command_ends_at_its_timeout(sandbox: e2b.Sandbox) -> None:
    backend = E2BSandbox(sandbox=sandbox)
    assert backend.execute("sleep 30", timeout=2).exit_code == 124
    assert backend.execute("echo after").output == "after\n"


def test_the_asynchronous_backend() -> None:
    async def run() -> list[Any]:
        sandbox = await e2b.AsyncSandbox.create()
        backend = AsyncE2BSandbox(sandbox=sandbox)
        await backend.awrite("/home/user/a.txt", "one\ntwo\n")
        seen = [await backend.agrep("two", "/home/user"), await backend.aglob("*.txt", "/home/user"), await backend.aexecute("cat a.txt")]
        await sandbox.kill()
        return seen

    grep, glob, execute = asyncio.run(run())
    assert grep.matches == [{"path": "/home/user/a.txt", "line": 2, "text": "two"}]
    assert [Path(found["path"]).name for found in glob.matches] == ["a.txt"]
    assert execute.output == "one\ntwo\n"


class ScriptedModel(GenericFakeChatModel):
    """Calls tools in turn, then answers."""

    def bind_tools(self, *_: Any, **__: Any) -> ScriptedModel:
        return self


def call(name: str, **arguments: Any) -> AIMessage:
    return AIMessage(content="", tool_calls=[{"name": name, "args": arguments, "id": json.dumps([name, arguments])}])


def test_a_deep_agent_works_with_files_and_commands(sandbox: e2b.Sandbox) -> None:
    file = "/home/user/fib.py"
    replies = [
        call("write_file", file_path=file, content="def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 3)\nprint(fib(10))\n"),
        call("edit_file", file_path=file, old_string="n - 3", new_string="n - 2"),
        call("execute", command="python3 fib.py"),
        call("read_file", file_path=file, limit=1),
        call("grep", pattern="def fib", path="/home/user", output_mode="content"),
        call("glob", pattern="*.py", path="/home/user"),
        call("ls", path="/home/user"),
        AIMessage(content="55"),
    ]
    agent = create_deep_agent(model=ScriptedModel(messages=iter(replies)), backend=E2BSandbox(sandbox=sandbox))
    messages = agent.invoke({"messages": [("user", "Compute fib(10).")]})["messages"]
    outputs = [message.text for message in messages if isinstance(message, ToolMessage)]
    assert messages[-1].text == "55" and [message.status for message in messages if isinstance(message, ToolMessage)] == ["success"] * 7
    assert "55" in outputs[2] and "def fib(n):" in outputs[3] and "def fib" in outputs[4]
    assert file in outputs[5] and file in outputs[6]


def test_files_outlive_a_pause_and_a_snapshot(sandbox: e2b.Sandbox) -> None:
    E2BSandbox(sandbox=sandbox).write("/home/user/kept.txt", "kept\n")
    snapshot = sandbox.create_snapshot()
    sandbox.pause()
    resumed = E2BSandbox(sandbox=e2b.Sandbox.connect(sandbox.sandbox_id))
    assert resumed.execute("cat kept.txt").output == "kept\n"
    with e2b.Sandbox.create(template=snapshot.snapshot_id) as copy:
        assert E2BSandbox(sandbox=copy).read("/home/user/kept.txt").file_data["content"] == "kept"
