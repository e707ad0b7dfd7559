"""Whole evaluations with ``sandbox="paddock"`` and scripted replies, and what Inspect's own checks leave out."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import anyio
import pytest
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import Score, Target, accuracy, includes, scorer
from inspect_ai.solver import Generate, TaskState, basic_agent, solver
from inspect_ai.tool import bash, python
from inspect_ai.util import (
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentSpec,
    SandboxUnavailableError,
    SandboxUserUnsupportedError,
    sandbox,
)
from inspect_ai.util._sandbox.limits import override_max_exec_output_size
from recipes import block
from serving import serve

from paddock import Client
from paddock.inspect_ai import PaddockConfig


def call(tool: str, **arguments: Any) -> ModelOutput:
    return ModelOutput.for_tool_call("mockllm/model", tool, arguments)


def reply(text: str) -> ModelOutput:
    return ModelOutput.from_content("mockllm/model", text)


def open_sessions(url: str | None = None) -> list[dict[str, Any]]:
    return Client(url or os.environ["PADDOCK_URL"]).sessions({"for": "inspect"})


def evaluate(task: Task, folder: Path, *outputs: ModelOutput, **options: Any) -> EvalLog:
    model = get_model("mockllm/model", custom_outputs=list(outputs))
    [log] = eval(task, model=model, log_dir=str(folder), display="none", **options)
    return log


def results(log: EvalLog, sample: int = 0) -> list[str]:
    assert log.status == "success" and log.samples is not None, log.error
    return [message.text for message in log.samples[sample].messages if message.role == "tool"]


@pytest.fixture(autouse=True)
def tokens_are_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inspect would fetch an encoding to count the tokens of scripted replies."""
    monkeypatch.setattr("inspect_ai.model._model.count_text_tokens", lambda text: len(text.split()))


@pytest.fixture(autouse=True)
def sessions_end() -> Any:
    yield
    assert open_sessions() == []


def test_the_entry_point_is_that_of_the_package() -> None:
    project = tomllib.loads((Path(os.environ["PADDOCK_ROOT"]) / "packaging" / "python" / "pyproject.toml").read_text())
    points = {point.name: point.value for point in entry_points(group="inspect_ai") if point.value.startswith("paddock.")}
    assert points == project["project"]["entry-points"]["inspect_ai"]


def test_the_recipe_of_the_docs(tmp_path: Path) -> None:
    recipe: dict[str, Any] = {}
    exec(block("Inspect", "python", page="agents"), recipe)
    outputs = [
        call("bash", command="wc -l < numbers.txt"),
        call("python", code="print(sum(int(line) for line in open('numbers.txt')))"),
        call("submit", answer="The sum is 60."),
    ]
    log = evaluate(recipe["numbers"](), tmp_path, *outputs)
    assert [text.strip() for text in results(log)][:2] == ["3", "60"]
    assert log.results is not None and log.results.scores[0].metrics["accuracy"].value == 1.0


def test_files_setup_and_a_scorer_that_reads_the_sandbox(tmp_path: Path) -> None:
    @scorer(metrics=[accuracy()])
    def file_has_target() -> Callable[..., Any]:
        async def score(state: TaskState, target: Target) -> Score:
            return Score(value=(await sandbox().read_file("/tmp/out/answer.txt")).strip() == target.text)

        return score

    sample = Sample(
        input="Write the answer.",
        target="42",
        files={"src/data.txt": "6 7", "/tmp/b.bin": "data:application/octet-stream;base64,AP8="},
        setup="#!/bin/bash\nmkdir -p /tmp/out\ncp src/data.txt /tmp/out/copy.txt\n",
    )
    command = "read a b < /tmp/out/copy.txt; echo $((a * b)) > /tmp/out/answer.txt; od -An -tx1 /tmp/b.bin; ls /tmp"
    task = Task([sample], solver=basic_agent(tools=[bash()]), scorer=file_has_target(), sandbox="paddock")
    log = evaluate(task, tmp_path, call("bash", command=command), call("submit", answer="done"))
    assert results(log)[0].split() == ["00", "ff", "b.bin", "out"]
    assert log.results is not None and log.results.scores[0].metrics["accuracy"].value == 1.0


def test_errors_of_commands_are_results_of_tools(tmp_path: Path) -> None:
    calls = [
        call("bash", command="echo out; echo err >&2; exit 3"),
        call("python", code="print(1)\n1 / 0"),
        call("bash", command="sleep 20"),
        call("bash", command="cat missing"),
        call("python", code="print(open('kept').read())"),
        call("submit", answer="done"),
    ]
    solver = basic_agent(tools=[bash(timeout=2), python(timeout=20)])
    sample = Sample(input="Go.", target="done", files={"kept": "still here"})
    task = Task([sample], solver=solver, scorer=includes(), sandbox="paddock")
    log = evaluate(task, tmp_path, *calls)
    assert log.status == "success" and log.samples is not None
    tools = [message for message in log.samples[0].messages if message.role == "tool"]
    assert tools[0].text.split() == ["err", "out"]
    assert "ZeroDivisionError" in tools[1].text
    assert tools[2].error is not None and tools[2].error.type == "timeout"
    assert "missing" in tools[3].text
    assert tools[4].text.strip() == "still here"


def test_samples_wait_for_sessions_and_do_not_share_files(tmp_path: Path) -> None:
    @solver
    def write_and_list() -> Callable[..., Any]:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            await sandbox().write_file(f"{state.sample_id}.txt", "x")
            state.output = reply((await sandbox().exec(["ls"])).stdout)
            return state

        return solve

    samples = [Sample(input="Go.", target=f"{number}.txt", id=number) for number in range(1, 13)]
    log = evaluate(Task(samples, solver=write_and_list(), scorer=includes(), sandbox="paddock"), tmp_path)
    assert log.status == "success" and log.samples is not None
    assert [sample.output.completion.split() for sample in log.samples] == [[sample.target] for sample in log.samples]


def test_sessions_end_when_a_sample_fails_or_exceeds_its_time(tmp_path: Path) -> None:
    @solver
    def fails(is_late: bool) -> Callable[..., Any]:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            assert len(open_sessions()) == 1
            if is_late:
                await sandbox().exec(["sleep", "600"])
            raise RuntimeError("the solver fails")

        return solve

    log = evaluate(Task([Sample(input="Go.")], solver=fails(False), sandbox="paddock"), tmp_path)
    assert log.status == "error" and log.error is not None and "the solver fails" in log.error.message
    assert open_sessions() == []
    late = evaluate(Task([Sample(input="Go.")], solver=fails(True), sandbox="paddock", time_limit=3), tmp_path)
    assert late.samples is not None and late.samples[0].limit is not None and late.samples[0].limit.type == "time"


@pytest.mark.anyio
async def test_a_cancelled_command_ends_and_a_cancelled_open_leaves_no_session() -> None:
    from paddock.inspect_ai import PaddockSandbox

    opened = await PaddockSandbox.open(PaddockConfig())
    with anyio.move_on_after(1) as scope:
        await opened.exec(["sleep", "600"])
    assert scope.cancelled_caught
    assert (await opened.exec(["echo", "usable"], timeout=30)).stdout == "usable\n"
    await opened.close()
    with serve("--profile", "workspace", "--max-sessions", "1", "--hibernate-memory", "0") as url:
        holder = await PaddockSandbox.open(PaddockConfig(url=url))
        with anyio.move_on_after(1) as scope:
            await PaddockSandbox.open(PaddockConfig(url=url))
        assert scope.cancelled_caught
        await holder.close()
        with anyio.fail_after(60):
            after = await PaddockSandbox.open(PaddockConfig(url=url))
            assert len(open_sessions(url)) == 1
            await after.close()
        assert open_sessions(url) == []


WRITERS = [
    "while true; do echo x >> f; sleep 0.1; done",
    "python3 -c 'import time\nwhile True:\n open(\"f\", \"a\").write(\"x\")\n time.sleep(0.1)'",
]


@pytest.mark.anyio
@pytest.mark.parametrize("command", WRITERS, ids=["shell", "python"])
@pytest.mark.parametrize("ending", ["", " & sleep 60"])
async def test_a_timeout_ends_what_a_command_has_started(
    sandbox_env: SandboxEnvironment, command: str, ending: str
) -> None:
    """Inspect's own checks look for processes with ``ps``. This test looks at what commands write."""
    with pytest.raises(TimeoutError):
        await sandbox_env.exec(["sh", "-c", command + ending], timeout=3)
    written = await sandbox_env.read_file("f")
    assert written
    await sandbox_env.exec(["sleep", "1"])
    assert await sandbox_env.read_file("f") == written


@pytest.mark.anyio
async def test_output_beyond_the_limit_ends_the_command(sandbox_env: SandboxEnvironment) -> None:
    with override_max_exec_output_size(1000):
        for stream in ("stdout", "stderr"):
            code = f"import sys, itertools\nfor _ in itertools.count(): sys.{stream}.write('é' * 100)"
            with pytest.raises(OutputLimitExceededError, match="1000 bytes") as caught:
                await sandbox_env.exec(["python3", "-c", code], timeout=60)
            assert caught.value.truncated_output is not None and set(caught.value.truncated_output) <= {"é", "\ufffd"}
        assert len((await sandbox_env.exec(["printf", "%s", "x" * 1000])).stdout) == 1000
    long = await sandbox_env.exec(["python3", "-c", "import sys; print('é' * 1_000_000); print('x' * 500_000, file=sys.stderr)"])
    assert (len(long.stdout), len(long.stderr)) == (1_000_001, 500_001)
    assert (await sandbox_env.exec(["ls", "-A"])).stdout == ""


@pytest.mark.anyio
async def test_users_directories_and_variables(sandbox_env: SandboxEnvironment) -> None:
    assert (await sandbox_env.exec(["whoami"], user="pyodide")).stdout == "pyodide\n"
    with pytest.raises(SandboxUserUnsupportedError, match="'root'"):
        await sandbox_env.exec(["whoami"], user="root")
    missing = await sandbox_env.exec(["ls"], cwd="/none")
    assert (missing.success, missing.returncode) == (False, 127) and "/none" in missing.stderr
    unknown = await sandbox_env.exec(["no-such-command"])
    assert unknown.returncode == 127 and "no-such-command" in unknown.stderr
    await sandbox_env.exec(["sh", "-c", "cd /tmp; export LEFT=1"], env={"LEFT": "0"})
    assert (await sandbox_env.exec(["sh", "-c", "pwd; echo $LEFT"])).stdout == "/home/pyodide\n\n"
    code = "import os, sys; print(os.getcwd(), os.environ['A'], sys.stdin.read())"
    result = await sandbox_env.exec(["python3", "-c", code], input="é", cwd="/tmp", env={"A": "b c"})
    assert result.stdout == "/tmp b c é\n"


@pytest.mark.anyio
async def test_files_at_any_path_of_the_guest(sandbox_env: SandboxEnvironment) -> None:
    await sandbox_env.exec(["sh", "-c", "ln -s /tmp link; ln -s loop loop"])
    await sandbox_env.write_file("link/deep/../a.txt", "through a link")
    assert await sandbox_env.read_file("/tmp/a.txt") == "through a link"
    assert await sandbox_env.read_file("../../tmp/a.txt", text=False) == b"through a link"
    with pytest.raises(UnicodeDecodeError):
        await sandbox_env.write_file("b", b"\xff")
        await sandbox_env.read_file("b")
    for path in ("loop", "/dev/stdin", "/dev/zero", "/dev/paddock"):
        with pytest.raises(OSError, match=path):
            await sandbox_env.read_file(path)
        with pytest.raises(OSError, match=path):
            await sandbox_env.write_file(path, "x")
    with pytest.raises(OSError, match="/usr/bin/ls"):
        await sandbox_env.write_file("/usr/bin/ls", "x")
    with pytest.raises(OSError, match="big"):
        await sandbox_env.write_file("/tmp/big", bytes(80 * 1024 * 1024))
    with pytest.raises(FileNotFoundError):
        await sandbox_env.read_file(os.path.abspath(__file__))  # the host's files do not exist


@pytest.mark.anyio
async def test_a_command_that_ends_the_interpreter_is_reported(sandbox_env: SandboxEnvironment) -> None:
    code = "import ctypes; ctypes.string_at(0x7fffffff)"
    await sandbox_env.write_file("kept", "x")
    with pytest.raises(SandboxUnavailableError, match="files are lost"):
        await sandbox_env.exec(["python3", "-c", code], timeout=60)
    assert (await sandbox_env.exec(["ls"])).stdout == ""


@pytest.mark.anyio
async def test_configurations() -> None:
    from paddock.inspect_ai import PaddockSandbox

    spec = SandboxEnvironmentSpec("paddock", PaddockConfig(url=os.environ["PADDOCK_URL"], memory_bytes=100 << 20))
    restored = SandboxEnvironmentSpec.model_validate(spec.model_dump())
    assert restored.config == spec.config
    [environment] = (await PaddockSandbox.sample_init("t", restored.config, {})).values()
    code = "x = bytearray(90 << 20)"
    assert "MemoryError" in (await environment.exec(["python3", "-c", code])).stderr
    await PaddockSandbox.sample_cleanup("t", None, {"default": environment}, True)
    with pytest.raises(TypeError, match="compose.yaml"):
        await PaddockSandbox.sample_init("t", "compose.yaml", {})
