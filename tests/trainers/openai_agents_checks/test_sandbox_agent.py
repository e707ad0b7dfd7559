"""``SandboxAgent`` with the E2B client of openai-agents. Its client of the local machine is the oracle."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from agents import RunConfig, Runner, set_tracing_disabled
from agents.extensions.sandbox import e2b
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.run_config import SandboxRunConfig
from agents.sandbox.capabilities import Filesystem, Shell
from agents.sandbox.entries import File
from agents.sandbox.errors import ExecTransportError
from agents.sandbox.manifest import Manifest
from agents.sandbox.sandbox_agent import SandboxAgent
from agents.sandbox.sandboxes.unix_local import UnixLocalSandboxClient, UnixLocalSandboxClientOptions
from agents.sandbox.session.sandbox_session import SandboxSession
from agents.sandbox.snapshot import LocalSnapshotSpec
from agents.usage import Usage
from openai.types.responses import ResponseCustomToolCall, ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

set_tracing_disabled(True)
URL = os.environ["PADDOCK_URL"]
os.environ.update(E2B_API_URL=URL, E2B_SANDBOX_URL=URL, E2B_API_KEY="e2b_" + "0" * 40)

KINDS = list(e2b.E2BSandboxType)
NOTES = Manifest(entries={"notes.txt": File(content=b"first\nsecond\n"), "scratch.txt": File(content=b"scratch\n", ephemeral=True)})


def options(kind: e2b.E2BSandboxType = KINDS[0], **others: Any) -> e2b.E2BSandboxClientOptions:
    return e2b.E2BSandboxClientOptions(sandbox_type=kind, **others)


class ScriptedModel(Model):
    """Calls tools in turn, then answers. Keeps the outputs of the tools."""

    def __init__(self, *calls: tuple[str, str]) -> None:
        self.calls = list(calls)
        self.outputs: list[str] = []

    async def get_response(self, *_: Any, input: Any, **__: Any) -> ModelResponse:
        if isinstance(input, list):
            self.outputs = [item["output"] for item in input if str(item.get("type")).endswith("call_output")]
        return ModelResponse(output=[self.next_item()], usage=Usage(), response_id=None)

    def next_item(self) -> Any:
        if not self.calls:
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            return ResponseOutputMessage(id="1", type="message", role="assistant", status="completed", content=[text])
        name, arguments = self.calls.pop(0)
        call_id = f"call{len(self.calls)}"
        if name == "apply_patch":
            return ResponseCustomToolCall(type="custom_tool_call", call_id=call_id, name=name, input=arguments)
        return ResponseFunctionToolCall(type="function_call", call_id=call_id, name=name, arguments=arguments)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


async def run_agent(session: SandboxSession, *calls: tuple[str, str]) -> list[str]:
    model = ScriptedModel(*calls)
    agent = SandboxAgent(name="agent", model=model, capabilities=[Shell(), Filesystem()])
    config = RunConfig(sandbox=SandboxRunConfig(session=session))
    result = await Runner.run(agent, "Go.", max_turns=len(calls) + 1, run_config=config)
    assert result.final_output == "done"
    return [stable(output, session.state.manifest.root) for output in model.outputs]


def stable(output: str, root: str) -> str:
    """Removes what differs from run to run, and the workspace's path."""
    return re.sub(r"(Chunk ID|Wall time): .*", r"\1", output).replace(root, "ROOT")


def both(play: Callable[[SandboxSession], Awaitable[list[Any]]]) -> tuple[list[Any], list[Any]]:
    """Plays a scene in a sandbox of Paddock, then on this machine."""

    async def play_with(client: Any, client_options: Any) -> list[Any]:
        session = await client.create(options=client_options, manifest=NOTES)
        async with session:
            seen = await play(session)
        await client.delete(session)
        return seen

    async def run() -> tuple[list[Any], list[Any]]:
        here = await play_with(e2b.E2BSandboxClient(), options())
        return here, await play_with(UnixLocalSandboxClient(), UnixLocalSandboxClientOptions())

    return asyncio.run(run())


def shell(command: str, **others: Any) -> tuple[str, str]:
    return "exec_command", json.dumps({"cmd": command, "shell": "/bin/bash", **others})


PATCH = """*** Begin Patch
*** Update File: notes.txt
@@
-first
+First
 second
*** Add File: lib/words.py
+def words(text):
+    return text.split()
*** End Patch
"""
CALLS = [
    ("apply_patch", PATCH),
    shell("pwd"),
    shell("cat notes.txt && ls lib"),
    shell("grep -rn 'def ' . | sort"),
    shell("grep -c nothing notes.txt"),
    shell("python3 -c 'from lib.words import words; print(words(\"a b\"))'"),
    shell("set -euo pipefail; false | true; echo unreachable"),
    shell("trap 'echo cleaned' EXIT; exit 3"),
    shell("for f in lib/*.py; do wc -l < \"$f\"; done"),
    shell("cat > made.txt <<'END'\n$HOME `x`\nEND\nsed -n 1p made.txt; stat -c '%a %s' made.txt"),
    shell("find . -name '*.py' | xargs -r grep -l return"),
    shell("tar cf - notes.txt | tar tf -"),
    shell("ls missing"),
    shell("pwd; echo \"$OLDPWD\"", workdir="lib"),
    shell("pwd", workdir="/etc"),
    shell("seq 20000", max_output_tokens=50),
    shell("yes | head -c 100000 | wc -c", login=False),
    ("view_image", json.dumps({"path": "missing.png"})),
    ("write_stdin", json.dumps({"session_id": 77})),
    ("apply_patch", "*** Begin Patch\n*** Delete File: notes.txt\n*** End Patch\n"),
    shell("ls -A . lib"),
]


def test_the_tools_of_an_agent_answer_as_on_the_local_machine() -> None:
    here, local = both(lambda session: run_agent(session, *CALLS))
    assert here == local and len(here) == len(CALLS)


def test_a_run_that_creates_the_session_itself() -> None:
    async def run() -> list[str]:
        model = ScriptedModel(shell("cat notes.txt"), shell("id -un"))
        agent = SandboxAgent(name="agent", model=model, default_manifest=NOTES)
        config = RunConfig(sandbox=SandboxRunConfig(client=e2b.E2BSandboxClient(), options=options()))
        await Runner.run(agent, "Go.", run_config=config)
        return model.outputs

    notes, user = asyncio.run(run())
    assert notes.endswith("Output:\nfirst\nsecond\n") and "code 0" in user


def test_files_of_a_session_are_as_on_the_local_machine() -> None:
    async def play(session: SandboxSession) -> list[Any]:
        seen: list[Any] = []

        async def attempt(call: Callable[[], Awaitable[Any]]) -> None:
            try:
                seen.append(await call())
            except Exception as error:  # noqa: BLE001 - the class is compared
                seen.append(type(error).__name__)

        async def read(path: str) -> bytes:
            return bytes((await session.read(Path(path))).read())

        async def ls(path: str) -> list[Any]:
            entries = [(Path(entry.path).name, str(entry.permissions), entry.kind) for entry in await session.ls(Path(path))]
            return sorted(entries)

        await attempt(lambda: session.write(Path("a/b.bin"), io.BytesIO(bytes(range(256)) * 8000)))
        await attempt(lambda: session.write(Path("naïve name.txt"), io.BytesIO("é".encode())))
        for path in ("a/b.bin", "naïve name.txt", "missing", "../etc/passwd", "/etc/passwd"):
            await attempt(lambda path=path: read(path))
        await attempt(lambda: session.mkdir(Path("d/e"), parents=True))
        await attempt(lambda: session.mv(Path("a/b.bin"), Path("d/c.bin")))
        for path in (".", "d", "missing"):
            await attempt(lambda path=path: ls(path))
        await attempt(lambda: session.rm(Path("d"), recursive=True))
        await attempt(lambda: session.rm(Path("d")))
        await session.exec("ln -s /etc/passwd outside; ln -s notes.txt inside")
        for path in ("outside", "inside"):
            await attempt(lambda path=path: read(path))
        return seen

    here, local = both(play)
    assert here == local


@pytest.mark.parametrize("paused", [False, True])
@pytest.mark.parametrize("persistence", ["tar", "snapshot"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_workspace_is_persisted_and_restored(kind: e2b.E2BSandboxType, persistence: str, paused: bool, tmp_path: Path) -> None:
    async def run() -> tuple[int, bytes]:
        client = e2b.E2BSandboxClient()
        chosen = options(kind, workspace_persistence=persistence, pause_on_exit=paused, timeout=120)
        session = await client.create(options=chosen, manifest=NOTES, snapshot=LocalSnapshotSpec(base_path=tmp_path))
        async with session:
            await session.exec("mkdir d && echo kept > d/kept && chmod 711 d/kept && ln -s d/kept link && printf '\\0\\377' > raw")
        stored = client.serialize_session_state(session.state)
        resumed = await client.resume(client.deserialize_session_state(stored))
        async with resumed:
            result = await resumed.exec("cat link notes.txt scratch.txt; stat -c %a d/kept; od -An -tx1 raw; ls")
            await resumed.write(Path("later"), io.BytesIO(b"later"))
            return result.exit_code, result.stdout

    listing = "d\nlink\nnotes.txt\nraw\nscratch.txt\n"
    assert asyncio.run(run()) == (0, f"kept\nfirst\nsecond\nscratch\n711\n 00 ff\n{listing}".encode())


def test_the_server_keeps_no_sandbox_of_a_finished_session() -> None:
    import e2b as sdk

    async def run() -> str:
        client = e2b.E2BSandboxClient()
        session = await client.create(options=options(on_timeout="kill"))
        async with session:
            sandbox_id = session.state.sandbox_id
            assert sandbox_id in [box.sandbox_id for box in sdk.Sandbox.list().next_items()]
        await client.delete(session)
        return sandbox_id

    sandbox_id = asyncio.run(run())
    assert sandbox_id not in [box.sandbox_id for box in sdk.Sandbox.list().next_items()]


def test_a_terminal_is_refused_in_words() -> None:
    async def run() -> None:
        client = e2b.E2BSandboxClient()
        session = await client.create(options=options())
        async with session:
            await session.pty_exec_start("python3", "-i", tty=True)

    with pytest.raises(ExecTransportError) as refused:
        asyncio.run(run())
    assert "no terminal" in str(refused.value.__cause__)
